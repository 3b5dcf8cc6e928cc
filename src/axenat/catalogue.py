"""Every table and figure of a study, one row each. Whoever needs one of them asks here."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from axenat.config import RunConfig
from axenat.run_kinds import (
    AXE,
    CE,
    TEACHER,
    Kind,
    axe_runs,
    every_run,
    no_run,
    on,
    own,
    own_students,
    teachers_and_distilled,
)

# Records that are read in addition to config.yaml of each run. study_requests.py has the files of each.
TUNED = ("tuned",)
CHOSEN = (*TUNED, "choices")
SCORED = (*CHOSEN, "scores")
ANALYSED = (*SCORED, "analyses")
DECODED = (*SCORED, "further")


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    draw: str  # "module:function": a StudyRecord in, panels and sentences about what is missing out
    caption: str
    otherwise: str  # what is said where nothing is found
    with_teachers: bool = False  # shown next to the students that learn from them


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """What stands under one name: a table, a figure, or both."""

    title: str
    place: str = ""  # in the paper
    words: str = ""  # an introduction on the page
    apart: bool = False  # it has a section of the page for itself
    timed: bool = False  # no two measurements agree, so DVC does not keep it
    reads: tuple[str, ...] = SCORED
    runs: Callable[[RunConfig], bool] = every_run
    # Kinds of run without which the item is not whole. Notes below the table tell which of them a study lacks.
    kinds: tuple[Kind, ...] = ()
    grid: str = ""  # a key of the objective: only the runs of grids over it are shown
    grid_like: str = ""  # such a grid, for a study that has none
    several: str = ""  # a key of `decode` that needs more than one value
    table: str = ""  # "module:function": a StudyRecord in, a Table out
    figure: Figure | None = None

    @property
    def target(self) -> str:
        """Its name as a target of the workflow, if it is of the paper."""
        return self.place.lower().replace(" ", "")


ABLATIONS = tuple(replace(AXE, observe=observe, score="all") for observe in ("none", "some"))
# In the order of the paper, then our own.
CATALOGUE: dict[str, Item] = {
    "axe_against_ce": Item(
        title="AXE against cross entropy",
        place="Table 2",
        words="The same model, data and decoding; only the loss differs.",
        runs=own_students,
        kinds=on("distilled", CE, AXE),
        table="axenat.evaluate.main_tables:axe_against_ce",
        figure=Figure(
            draw="axenat.evaluate.study_figures:axe_against_ce",
            caption="BLEU on test of cross entropy (blue) and AXE (red) with 95 % intervals; "
            "a dotted line is the teacher.",
            otherwise="No comparison: that needs scores of an AXE run and of a cross-entropy run on the same targets.",
            with_teachers=True,
        ),
    ),
    "systems": Item(
        title="Beside other systems",
        place="Table 3",
        runs=teachers_and_distilled,
        kinds=(*on("raw", TEACHER), *on("distilled", TEACHER, CE, AXE)),
        table="axenat.evaluate.main_tables:systems",
    ),
    "target_sides": Item(
        title="Raw against distilled data",
        place="Table 4",
        words="Distilled targets, the translations of the left-to-right teacher, have fewer alternatives.",
        runs=own,
        kinds=(*on("raw", CE, AXE), *on("distilled", CE, AXE)),
        table="axenat.evaluate.main_tables:target_sides",
        figure=Figure(
            draw="axenat.evaluate.study_figures:target_sides",
            caption="BLEU on test of models trained on raw and on distilled targets, with 95 % intervals.",
            otherwise="No comparison of target sides: that needs scores of one objective on raw and on distilled "
            "targets.",
        ),
    ),
    "training_objectives": Item(
        title="Training objectives",
        place="Table 5",
        reads=TUNED,
        runs=axe_runs,
        kinds=(*ABLATIONS, AXE),
        table="axenat.evaluate.ablation_tables:training_objectives",
    ),
    "skip_target_penalty": Item(
        title="Skip-target penalty",
        place="Table 6",
        words="The higher δ, the dearer it is that two target words share a prediction, and the fewer do.",
        reads=CHOSEN,
        kinds=(AXE,),
        grid="skip_target_penalty",
        grid_like="[1, 2, 3, 4, 5]",
        table="axenat.evaluate.ablation_tables:skip_target_penalty",
        figure=Figure(
            draw="axenat.evaluate.study_figures:skip_target_penalty",
            caption="BLEU on valid and share of targets skipped there over δ (or another key); "
            "the ring marks the choice.",
            otherwise="No choice of δ: this study has no grid over the skip-target penalty, "
            "or it has not been chosen yet.",
        ),
    ),
    "length_multiplier": Item(
        title="Length multiplier",
        place="Table 7",
        words="An AXE model may write blanks, so it needs more room than the words it will keep: "
        "the predicted length is multiplied by λ.",
        reads=CHOSEN,
        runs=own_students,
        kinds=(AXE,),
        several="length_multipliers",
        table="axenat.evaluate.ablation_tables:length_multiplier",
        figure=Figure(
            draw="axenat.evaluate.study_figures:length_multiplier",
            caption="BLEU on valid over the length multiplier λ, or the teacher's length penalty; "
            "a ring marks the choice.",
            otherwise="No tuning curves: no run has a tuned.json.",
            with_teachers=True,
        ),
    ),
    "lengths": Item(
        title="BLEU by target length",
        place="Table 8",
        words="The longer the sentence, the likelier it is that prediction and reference drift apart.",
        reads=ANALYSED,
        runs=own,
        kinds=(CE, AXE),
        table="axenat.evaluate.analysis_tables:lengths",
        figure=Figure(
            draw="axenat.evaluate.study_figures:lengths",
            caption="BLEU on test by the length of the first reference, the number of sentences in brackets.",
            otherwise="No BLEU by length: that needs the analysis of an AXE run and of its cross-entropy counterpart.",
        ),
    ),
    "confidence": Item(
        title="Position confidence",
        place="Figure 3",
        words="How probable is a generated word at its own position (0) and at the positions around it? "
        "A high, narrow peak means that the model knows where the word belongs.",
        reads=ANALYSED,
        runs=own_students,
        kinds=(CE, AXE),
        table="axenat.evaluate.analysis_tables:confidence",
        figure=Figure(
            draw="axenat.evaluate.study_figures:confidence",
            caption="Probability of a generated token around its own position: "
            "CE dashed blue, AXE solid red (Figure 3).",
            otherwise="No position confidence: "
            "that needs the analysis of an AXE run and of its cross-entropy counterpart.",
        ),
    ),
    "repetitions": Item(
        title="Repetitions",
        place="Table 9",
        words="A model that hesitates between two translations tends to write the same word twice.",
        runs=own,
        kinds=(CE, AXE),
        table="axenat.evaluate.analysis_tables:repetitions",
        figure=Figure(
            draw="axenat.evaluate.study_figures:repetitions",
            caption="Share of subwords on test equal to the one before; blue CE, red AXE, green left-to-right.",
            otherwise="No repetition rates: no run has been scored.",
        ),
    ),
    "speed": Item(
        title="Speed",
        timed=True,
        reads=(*TUNED, "speed"),
        kinds=(TEACHER, CE, AXE),
        table="axenat.evaluate.speed_table:speed",
    ),
    "decodings": Item(title="Decodings", reads=DECODED, table="axenat.evaluate.decoding_table:decodings"),
    "corpora": Item(
        title="Corpora",
        apart=True,
        reads=("origins", "raw", "counts"),
        runs=no_run,
        table="axenat.evaluate.corpus_table:corpora",
    ),
    "conventions": Item(title="Conventions", table="axenat.evaluate.convention_table:conventions"),
    "seeds": Item(title="Seeds", reads=DECODED, table="axenat.evaluate.seed_table:seeds"),
    "training": Item(
        title="Learning curves",
        apart=True,
        reads=("histories",),
        figure=Figure(
            draw="axenat.evaluate.study_figures:training",
            caption="Loss over steps: thin line train, dots valid. "
            "Losses of different objectives are not on one scale.",
            otherwise="No training curves: no run has a history.jsonl.",
        ),
    ),
    "alignment": Item(
        title="Alignments drawn",
        apart=True,
        reads=ANALYSED,
        runs=own,
        figure=Figure(
            draw="axenat.evaluate.study_figures:alignment",
            caption="AXE alignments of real pairs: which prediction each target token is aligned to, and at what cost.",
            otherwise="No alignment: no chosen AXE run has one in its analysis.",
        ),
    ),
}
TABLE_NAMES = tuple(name for name, item in CATALOGUE.items() if item.table)
FIGURE_NAMES = tuple(name for name, item in CATALOGUE.items() if item.figure)
# What a clock says is apart from everything else.
TIMED = tuple(name for name, item in CATALOGUE.items() if item.timed)
# Items of the paper, each a target of the workflow, by the table that shows them.
PAPER_ITEMS = {name: CATALOGUE[name].target for name in TABLE_NAMES if CATALOGUE[name].place}


def load(reference: str) -> Any:
    """The function that "module:function" names. Its module is imported only now: the workflow must not wait for it."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)
