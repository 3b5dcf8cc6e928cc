"""A corpus whose text tells every rule apart, taken through its stages as a study resolves them."""

import json
from pathlib import Path
from typing import Any

from axenat.cli import main
from axenat.corpus_config import SPLITS
from axenat.files import write_lines
from axenat.study import Study, parse_study

SIDES = ("source", "target")
# English and Romanian. Each rule of text and each filter meets some pair: apostrophes and titles, which each language
# splits otherwise, cedillas, hyphens, signs to escape, quotes, capitals, lengths, ratios, duplicates, a wrong script.
ENGLISH = [
    "We saw the old house again today.",
    "The house is old but we don't mind.",
    "A well-known man & his co-workers.",
    "“Quotes” – and dashes… 5 %",
    "House prices are up. The House said so.",
    "Yes.",
    "One two three four five six seven eight nine ten eleven twelve.",
    "Short words.",
    "We saw the old house again today.",
    "They said 你好 to us all.",
    "The minister is not at home.",
]
ROMANIAN = [
    "Am văzut din nou casa veche azi.",
    "Casa dl. Pop este veche şi ţine mult.",
    "Un om bine-cunoscut & colegii săi.",
    "„Ghilimele” – şi liniuţe… 5 %",
    "Casa are preţuri mari. La Casa spun aşa.",
    "Da.",
    "Unu doi trei patru cinci șase șapte opt nouă zece unsprezece doisprezece.",
    "Sunt cuvinte care sunt totuși cu mult mai lungi.",
    "Am văzut din nou casa veche azi.",
    "Ne-au spus 你好 tuturor.",
    "Ministrul nu este acasă.",
]
HELD_OUT = {"valid": slice(1, 4), "test": slice(1, 8)}


def write_texts(folder: Path) -> None:
    """A folder of one's own, with a second reference and a judge."""
    for split in SPLITS:
        part = HELD_OUT.get(split, slice(None))
        write_lines(folder / f"{split}.en", ENGLISH[part])
        write_lines(folder / f"{split}.ro", ROMANIAN[part])
        write_lines(folder / f"{split}.ref1.ro", [f"{line} Da." for line in ROMANIAN[part]])
        write_lines(folder / f"{split}.accept", ["{}"] * len(ROMANIAN[part]))


def study_of(corpus: dict[str, Any]) -> Study:
    return parse_study(
        {"study": "toy", "corpora": {"own": corpus}, "runs": {"ce": {"corpus": "own", "objective": {"name": "masked"}}}}
    )


def resolve(study: Study, stage: str, out: Path) -> Path:
    """As the rule `configure_corpus` writes it."""
    assert main(["configure", "--resolved", json.dumps(study.section("corpora", "own", stage)), "--out", str(out)]) == 0
    return out


def run(stage: str, **flags: Any) -> int:
    words = [word for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return main([stage, *words])


def made_of(corpus: dict[str, Any], folder: Path) -> dict[str, dict[str, str]]:
    """All that the stages of a corpus write, by stage and split."""
    study = study_of(corpus)
    languages = dict(zip(SIDES, (corpus["source_language"], corpus["target_language"]), strict=True))
    for split in SPLITS:
        config = resolve(study, f"download-{split}", folder / "config" / f"download-{split}.yaml")
        assert run("download", config=config, out=folder / f"download-{split}") == 0
        config = resolve(study, f"clean-{split}", folder / "config" / f"clean-{split}.yaml")
        clean = folder / f"clean-{split}"
        raw = {side: folder / f"download-{split}" / f"{split}.{languages[side]}" for side in SIDES}
        words = {f"out_{side}": clean / side for side in SIDES}
        assert run("clean", config=config, split=split, threads=1, counts=clean / "counts", **raw, **words) == 0
    text = {side: folder / "clean-train" / side for side in SIDES}
    config = resolve(study, "subwords", folder / "config" / "subwords.yaml")
    assert run("learn_subwords", config=config, out=folder / "subwords", threads=1, **text) == 0
    for split in SPLITS:
        text = {side: folder / f"clean-{split}" / side for side in SIDES}
        out = folder / f"encode-{split}" / "ids"
        assert run("encode", subwords=folder / "subwords", out=out, threads=1, **text) == 0
    return {path.name: _files(path) for path in sorted(folder.iterdir()) if path.name != "config"}


def _files(folder: Path) -> dict[str, str]:
    """Without text.yaml, which repeats its configuration whether or not anything else follows it."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "text.yaml"]
    return {path.name: path.read_bytes().hex() for path in files}
