"""Where every file of a study lives: the one place that spells paths for the workflow."""

from pathlib import Path
from typing import Any

from axenat.catalogue import FIGURE_NAMES, TIMED
from axenat.config import DecodeConfig
from axenat.corpus_config import SPLITS
from axenat.files import UserError, read_mapping, read_record
from axenat.recipe import published
from axenat.study import Study
from axenat.systems.registry import system_of

ARCHIVES = "data/archives"  # laid out by host and path, so that it can serve others as a mirror
# All that turns the text of a corpus into ids and back.
SUBWORD_FILES = (
    *(f"{name}.{side}" for name in ("codes", "vocab", "pieces", "truecase") for side in ("source", "target")),
    "text.yaml",
)
MODEL_FILES = ("config.yaml", "decode.yaml", "model.safetensors", *SUBWORD_FILES)


def raw_text(study: Study, corpus: str, split: str, side: str) -> str:
    config = study.corpora[corpus]
    language = {"source": config.source_language, "target": config.target_language}[side]
    return f"data/{corpus}/{split}.{language}"


def references(study: Study, corpus: str, split: str) -> list[str]:
    config = study.corpora[corpus]
    further = [f"{split}.ref{number}" for number in range(1, config.references)]
    return [f"data/{corpus}/{name}.{config.target_language}" for name in (split, *further)]


def accept(study: Study, corpus: str, split: str) -> list[str]:
    """What judges translations as right or wrong; most corpora have nothing of the kind."""
    return [f"data/{corpus}/{split}.accept"] if study.corpora[corpus].judged else []


def archives(study: Study, corpus: str, split: str) -> list[str]:
    """What `download` unpacks; a corpus without a recipe has none."""
    selection = study.selections.get(corpus)
    used = published(selection, split).archives.values() if selection else []
    return [f"{ARCHIVES}/{archive.place}" for archive in used]


def archives_by_place(study: Study) -> dict[str, tuple[str, str]]:
    """Recipe and name of each archive; two corpora may share one."""
    return {
        archive.place: (str(study.corpora[corpus].recipe), name)
        for corpus, selection in study.selections.items()
        for name, archive in selection.archives.items()
    }


def raw_files(study: Study, corpus: str, split: str) -> list[str]:
    """Everything that `download` writes of a split."""
    return [f"data/{corpus}/{name}" for name in [f"{split}.json", *_raw_names(study, corpus, split)]]


def own_files(study: Study, corpus: str, split: str) -> list[str]:
    """What `download` copies; a corpus without a folder of its own has none."""
    folder = study.corpora[corpus].folder
    return [f"{folder}/{name}" for name in _raw_names(study, corpus, split)] if folder else []


def _raw_names(study: Study, corpus: str, split: str) -> list[str]:
    config = study.corpora[corpus]
    names = [f"{split}.{config.source_language}", f"{split}.{config.target_language}"]
    if split != "train":
        names += [f"{split}.ref{number}.{config.target_language}" for number in range(1, config.references)]
        names += [f"{split}.accept"] if config.judged else []
    return names


def origins(study: Study) -> list[str]:
    return [f"data/{corpus}/origin.yaml" for corpus in study.corpora]


def raw_counts(study: Study) -> list[str]:
    return [f"data/{corpus}/{split}.json" for corpus in study.corpora for split in SPLITS]


def clean_counts(study: Study) -> list[str]:
    return [f"results/corpora/{corpus}/clean/{split}.counts.json" for corpus in study.corpora for split in SPLITS]


def words(study: Study, corpus: str, variant: str, split: str, side: str) -> str:
    """Tokenised text; only the target side of train has a distilled variant."""
    if (variant, split, side) == ("distilled", "train", "target"):
        return f"results/corpora/{corpus}/distilled/train.target"
    return f"results/corpora/{corpus}/clean/{split}.{side}"


def held_out_words(study: Study, corpus: str, split: str, side: str) -> list[str]:
    """Tokenised text, line by line that of the plain text. Of train there is none, since `clean` leaves lines out."""
    return [] if split == "train" else [words(study, corpus, "raw", split, side)]


def to_translate(study: Study, corpus: str, split: str) -> str:
    (text,) = held_out_words(study, corpus, split, "source") or [raw_text(study, corpus, split, "source")]
    return text


def reference_words(study: Study, corpus: str, split: str) -> list[str]:
    """Of all references: the tokenised target side, unless there are more."""
    side = "references" if study.corpora[corpus].references > 1 else "target"
    return held_out_words(study, corpus, split, side)


def ids(study: Study, run: str, split: str) -> str:
    """Valid and test stay real."""
    config = study.runs[run]
    variant = config.target_side if split == "train" else "raw"
    return f"results/corpora/{config.corpus}/{variant}/{split}.safetensors"


def start(study: Study, run: str) -> list[str]:
    """The weights that a training begins with; most begin with random ones."""
    first = study.runs[run].start_from
    return [f"results/runs/{first}/model.safetensors"] if first else []


def subwords(corpus: str) -> list[str]:
    return [f"results/corpora/{corpus}/subwords/{name}" for name in SUBWORD_FILES]


def shards(study: Study, corpus: str, ending: str) -> list[str]:
    """The teacher's translations (`target`) or their records (`json`), in order."""
    distil = study.corpora[corpus].distil
    assert distil is not None, f"{corpus} has no teacher"
    parts = [f"{number}-of-{distil.shards}" for number in range(1, distil.shards + 1)]
    return [f"results/corpora/{corpus}/distilled/shards/{part}.{ending}" for part in parts]


def model(run: str) -> list[str]:
    return [f"results/runs/{run}/{name}" for name in MODEL_FILES]


def tuned_model(run: str) -> list[str]:
    return [*model(run), f"results/runs/{run}/tuned.json"]


def teacher(study: Study, corpus: str) -> list[str]:
    distil = study.corpora[corpus].distil
    assert distil is not None, f"{corpus} has no teacher"
    return tuned_model(distil.teacher)


def output(study: Study, run: str, split: str, ending: str) -> str:
    return f"results/runs/{run}/{split}/{study.runs[run].decode_name}.{ending}"


def further_outputs(study: Study, run: str, split: str, ending: str) -> list[str]:
    """Of the decodings that are reported beside the run's own."""
    return [f"results/runs/{run}/{split}/{name}.{ending}" for name in study.runs[run].decode_names[1:]]


def outputs_in(folder: Path, ending: str) -> list[Path]:
    """The files of a run's present decoding; those of an earlier one may still lie beside them."""
    return sorted(folder.glob(f"*/{_decode_name_in(folder) or '*'}.{ending}"))


def provenance_in(folder: Path) -> dict[str, Any]:
    """Who made the training in a run's folder, and where; empty if nobody tells."""
    path = folder / "provenance.json"
    made = read_record(path) if path.exists() and not is_of_another_training(folder) else {}
    return {key: value for key, value in made.items() if key != "fingerprint"}


def is_of_another_training(folder: Path) -> bool:
    """Whether what DVC does not keep, provenance.json and checkpoints, is of another training than best.json: DVC puts
    back the one, and leaves the others as they were."""
    path, best = folder / "provenance.json", folder / "best.json"
    if not path.exists() or not best.exists():
        return False
    trained = read_record(best).get("fingerprint")
    return bool(trained) and bool(read_record(path).get("fingerprint", trained) != trained)


def _decode_name_in(folder: Path) -> str | None:
    """None if the folder does not tell."""
    try:
        system = system_of(read_mapping(folder / "config.yaml", "objective.name")["objective"]["name"])
        decode = read_mapping(folder / "decode.yaml")
    except UserError:
        return None
    sizes = {size.key: decode[size.key] for size in system.decoding.sizes if size.key in decode}
    return system.decoding.name(DecodeConfig(**sizes))


def choices(study: Study) -> list[str]:
    return [f"results/choices/{grid}.json" for grid in study.grids]


# What a clock said, and which machine and software made the runs: never the same twice, and never in DVC's keeping.
SPEED, MACHINE = "results/speed/speed.json", "results/speed/machine.html"
# The endings of a table's files: three for readers, and one that the page is made from.
TABLE_FORMS = ("md", "csv", "tex", "table.json")


def table_file(table: str, ending: str) -> str:
    """What a clock says lies apart from what DVC keeps, which is the same on every rerun."""
    return f"results/{'speed' if table in TIMED else 'tables'}/{table}.{ending}"


def tables(study: Study, ending: str) -> list[str]:
    """The tables that the study asks for; `results` comes with the summary and is no part of them."""
    return [table_file(name, ending) for name in study.tables]


def figure_file(figure: str, ending: str) -> str:
    return f"results/figures/{figure}.{ending}"


def figures(ending: str) -> list[str]:
    """The same for every study: one without records says in words what is missing."""
    return [figure_file(name, ending) for name in FIGURE_NAMES]


def request_file(name: str) -> str:
    """What a stage that looks at the whole study is asked to do; study_requests.py has the names."""
    return f"results/requests/{name}.yaml"
