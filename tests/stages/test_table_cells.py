"""Every cell of the tables of main results, read a second time from the records of a study and from paper.yaml."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.evaluation_cells import less, paper, published, read_csv, same_cells
from tests.support.evaluation_study import CORPORA, LABELS, NAMES, RUNS, Study, chosen, decode_of

SYSTEMS = {"masked": "ce", "axe": "axe"}
# How the paper scored the column that a corpus is shown beside.
CONVENTION = {"north": "tokenised", "demo": "tokenised", "east": "sacrebleu"}
INTERVAL = ("bleu", "bleu_low", "bleu_high")
NAMES_OF_MAIN_TABLES = ("axe_against_ce", "systems", "target_sides", "conventions", "decodings", "speed", "repetitions")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(folder=tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def tables(study: Study) -> Path:
    return study.write_tables(*NAMES_OF_MAIN_TABLES)


def as_published(study: Study, run: str, value: float | None) -> dict[str, Any]:
    """Our BLEU as the paper scores the corpus, the published value, and ours less it on the paper's own corpora."""
    score = study.own(run)
    ours = score["conventions"][CONVENTION[score["corpus"]]]["value"]
    difference = less(ours, score["corpus"], value)
    return {"likewise": ours, "published": value, "published_difference": difference}


def test_axe_against_ce(study: Study, tables: Path) -> None:
    expected = []
    for run in [*chosen("masked"), *chosen("axe")]:
        score = study.own(run)
        corpus, side, objective = (score[key] for key in ("corpus", "target_side", "objective"))
        value = published("axe_against_ce", corpus, system=SYSTEMS[objective]) if side == "distilled" else None
        rival = study.own(f"{corpus}-ce-{side}")["bleu"]
        gain = score["bleu"] - rival if objective == "axe" else None
        about = {"corpus": corpus, "target_side": side, "model": LABELS[objective], "gain": gain, "run": run}
        expected.append(about | {key: score[key] for key in INTERVAL} | as_published(study, run, value))
    same_cells(read_csv(tables / "axe_against_ce.csv"), expected, "run")


# The transformer of a row must be of the size of the students there: the teachers of demo and east are larger.
OURS = {
    ("north", "base"): "north-teacher",
    ("north", "base_distilled"): "north-base",
    ("demo", "base_distilled"): "demo-base",
    **{(corpus, system): f"{corpus}-{system}-distilled" for corpus in ("demo", "east") for system in ("ce", "axe")},
    ("north", "ce"): "north-ce-distilled",
    ("north", "axe"): "north-axe-distilled-d5",
}


def test_beside_other_systems(study: Study, tables: Path) -> None:
    expected = []
    for corpus in CORPORA:
        for row in paper()["systems"]:
            name = ", ".join(filter(None, (row["label"], row.get("citation"))))
            run = OURS.get((corpus, row.get("system", "")))
            value = published("systems", corpus, label=row["label"])
            cells = {"corpus": corpus, "iterations": row.get("iterations", "1"), "run": run}
            if run:
                cells |= {"model": name, **{key: study.own(run)[key] for key in INTERVAL}}
                cells |= as_published(study, run, value)
            else:
                cells |= {"model": f"{name}, published", **dict.fromkeys(INTERVAL)}
                cells |= {"likewise": None, "published": value, "published_difference": None}
            expected.append(cells)
    same_cells(read_csv(tables / "systems.csv"), expected, "corpus", "model")


# Corpus, objective, raw run and distilled run; whether the paper has this transformer.
SIDE_BY_SIDE: tuple[tuple[str, str, str | None, str | None, bool], ...] = (
    ("north", "left_to_right", "north-teacher", "north-base", True),
    ("north", "masked", "north-ce-raw", "north-ce-distilled", True),
    ("north", "axe", "north-axe-raw-d2", "north-axe-distilled-d5", True),
    ("demo", "left_to_right", "demo-teacher", None, False),
    ("demo", "left_to_right", None, "demo-base", True),
    ("demo", "masked", "demo-ce-raw", "demo-ce-distilled", True),
    ("demo", "axe", "demo-axe-raw", "demo-axe-distilled", True),
    ("east", "left_to_right", "east-teacher", None, False),
    ("east", "masked", None, "east-ce-distilled", True),
    ("east", "axe", None, "east-axe-distilled", True),
)


def published_on(corpus: str, objective: str, side: str) -> float | None:
    """Raw data in Tables 3 and 4, distilled data in Tables 2 and 3."""
    if objective == "left_to_right":
        return published("systems", corpus, system="base" if side == "raw" else "base_distilled")
    if side == "raw":
        return published("target_sides", corpus, system=SYSTEMS[objective], target_side="raw")
    return published("axe_against_ce", corpus, system=SYSTEMS[objective])


def test_raw_against_distilled_data(study: Study, tables: Path) -> None:
    expected = []
    for corpus, objective, *runs, of_paper in SIDE_BY_SIDE:
        row: dict[str, Any] = {"corpus": corpus, "model": LABELS[objective]}
        for side, run in zip(("raw", "distilled"), runs, strict=True):
            value = published_on(corpus, objective, side) if of_paper else None
            cells = {"run": run, "likewise": None, "published": value, "published_difference": None}
            cells |= {key: study.own(run)[key] if run else None for key in INTERVAL}
            cells |= as_published(study, run, value) if run else {}
            row |= {f"{side}_{key}": cell for key, cell in cells.items()}
        raw, distilled = row["raw_bleu"], row["distilled_bleu"]
        expected.append(row | {"difference": None if raw is None or distilled is None else distilled - raw})
    keys = ("run", *INTERVAL, "likewise", "published", "published_difference")
    for corpus in CORPORA:
        for label, citation in (("CTC Loss", "Libovický and Helcl (2018)"), ("FlowSeq", "Ma et al. (2019)")):
            empty = {f"{side}_{key}": None for side in ("raw", "distilled") for key in keys}
            empty["raw_published"] = published("target_sides", corpus, label=label)
            name = f"{label}, {citation}, published"
            expected.append({"corpus": corpus, "model": name, "difference": None, **empty})
    same_cells(read_csv(tables / "target_sides.csv"), expected, "corpus", "model", "raw_run", "distilled_run")


def test_conventions(study: Study, tables: Path) -> None:
    expected = []
    for run in NAMES:
        score = study.own(run)
        row = {"run": run, "corpus": score["corpus"], "chosen": run in chosen()}
        for name, one in score["conventions"].items():
            row |= {name: one["value"], f"{name}_low": one["low"], f"{name}_high": one["high"]}
        expected.append(row)
    same_cells(read_csv(tables / "conventions.csv"), expected, "run")


SIZES = {
    "beam5": (5, None, None),
    "beam2": (2, None, None),
    "ell5": (None, 5, 1),
    "ell1": (None, 1, 1),
    "ell5-t4": (None, 5, 4),
}


def test_decodings(study: Study, tables: Path) -> None:
    keys = (*INTERVAL, "repetition", "repetition_words", "valid_share", "length_ratio", "engine", "precision")
    expected = []
    for (run, decode), score in study.scores.items():
        sizes = dict(zip(("beam_size", "num_length_candidates", "iterations"), SIZES[decode], strict=True))
        marks = {"tuned": decode == decode_of(run), "chosen": run in chosen()}
        expected.append({"run": run, "decode": decode, **sizes, **marks, **{key: score[key] for key in keys}})
    same_cells(read_csv(tables / "decodings.csv"), expected, "run", "decode")


def test_repetitions(study: Study, tables: Path) -> None:
    expected = []
    for run, objective, corpus, side, delta, _ in RUNS:
        score = study.own(run)
        known = objective in SYSTEMS and run in chosen() and (side == "distilled" or corpus == "demo")
        percent = published("repetitions", corpus, "percent", system=SYSTEMS[objective]) if known else None
        value = None if percent is None else percent / 100
        row = {"run": run, "model": LABELS[objective], "target_side": side, "skip_target_penalty": delta}
        row |= {key: score[key] for key in ("repetition", "repetition_words")} | {"chosen": run in chosen()}
        expected.append(row | {"published": value, "published_difference": less(score["repetition"], corpus, value)})
    same_cells(read_csv(tables / "repetitions.csv"), expected, "run")


# The cross entropy run of the same shape whose training an AXE run is measured by: that of north's raw side is larger.
RIVALS = {
    run: f"{corpus}-ce-{side}"
    for run, objective, corpus, side, *_ in RUNS
    if objective == "axe" and (corpus, side) != ("north", "raw")
}
DECODED = {"north": "north-teacher", "demo": "demo-teacher"}


def test_speed(study: Study, tables: Path) -> None:
    """Training: AXE's time over that of CE. Decoding: how many times as fast as the teacher."""
    trained = {row["run"]: row for row in study.speed["training"]}
    decoded = [dict(row) for row in study.speed["decoding"]]
    measured = {row["run"] for row in decoded}
    assert len(decoded) > len(measured)
    expected = []
    for row in [*decoded, *({"run": run} for run in NAMES if run not in measured)]:
        run, training = row["run"], trained[row["run"]]
        objective, teacher = training["objective"], DECODED.get(training["corpus"])
        time = None
        if run in RIVALS:
            time = training["step_milliseconds"] / trained[RIVALS[run]]["step_milliseconds"]
        slow = next((one for one in decoded if one["run"] == teacher and one["decode"] == "beam5"), None)
        cells = {"run": run, "objective": LABELS[objective], "target_side": training["target_side"]}
        cells |= {key: training[key] for key in ("tokens_per_second", "step_milliseconds", "total_seconds")}
        cells |= {"time_to_ce": time, "published": 1.2 if objective == "axe" else None}
        keys = ("decode", "engine", "precision", "sentences_per_second", "latency_milliseconds")
        cells |= {key: row.get(key) for key in keys}
        cells |= {"batches_to_teacher": None, "alone_to_teacher": None}
        if slow and "decode" in row:
            cells["batches_to_teacher"] = row["sentences_per_second"] / slow["sentences_per_second"]
            cells["alone_to_teacher"] = slow["latency_milliseconds"] / row["latency_milliseconds"]
        expected.append(cells)
    same_cells(read_csv(tables / "speed.csv"), expected, "run", "decode")
    text = (tables / "speed.md").read_text("utf-8")
    assert "30 sentences of test" in text and "(4 rounds, medians; cpu, threads: 3)" in text
