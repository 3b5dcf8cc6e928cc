"""`axenat gather` on twelve shards: their lines in order, and a manifest whose numbers follow from the files."""

from pathlib import Path

import pytest

from axenat.files import read_json, read_lines, sha256_of, write_json, write_lines, write_yaml
from tests.support.evaluation_texts import RULES, SHAPES, axenat, references, sacrebleu, tokenised

LANGUAGES = ("de", "zh")
MANY = 2300  # more lines than the sample takes
SHARDS = 12  # so that 10-of-12 stands before 2-of-12 in a list of names


@pytest.fixture(scope="module", params=LANGUAGES)
def gathered(request, tmp_path_factory) -> tuple[str, Path, dict]:
    """Shards of unequal size, of words by the corpus's own rules, no two lines of which are equal."""
    folder, language = tmp_path_factory.mktemp(request.param), request.param
    known, shapes = references(language, MANY)[0], len(SHAPES[language])
    written = [
        SHAPES[language][(place + (place % 4 == 0)) % shapes].format(n=place + place % 3) for place in range(MANY)
    ]
    outputs, targets = tokenised(written, language), tokenised(known, language)
    for place in range(5, MANY, 311):
        outputs[place] = written[place] = "" if place % 2 else " ".join("x" * 300)
    sizes = [MANY // SHARDS + number - 6 for number in range(SHARDS)]
    sizes[-1] += MANY - sum(sizes)
    write_lines(folder / "train.source", ["s " * 20] * MANY)
    write_lines(folder / "train.target", targets)
    write_lines(folder / "teacher" / "model.safetensors", ["weights"])
    write_json(folder / "teacher" / "tuned.json", {"value": 1.2})
    rules = {"source_language": "en", "target_language": language, "text": RULES[language]}
    write_yaml(folder / "clean.yaml", {"max_length": 250, "max_ratio": 90.0, **rules})
    files: dict[str, list[Path]] = {"target": [], "json": []}
    for number, size in enumerate(sizes, start=1):
        for ending, paths in files.items():
            paths.append(folder / f"{number}-of-{SHARDS}.{ending}")
        first = sum(sizes[: number - 1])
        write_lines(files["target"][-1], outputs[first : first + size])
        record = {
            "shard": f"{number}-of-{SHARDS}",
            "teacher_sha256": sha256_of(folder / "teacher" / "model.safetensors"),
            "source_sha256": sha256_of(folder / "train.source"),
            "engine": "torch",
            "precision": "float32",
            "beam_size": 4,
            "length_penalty": 1.2,
            "first_line": first + 1,
            "lines": size,
            "text_sha256": sha256_of(files["target"][-1]),
            "cut_sources": number,
            "runaway": [first + 2] if number == 3 else [],
            "empty": [],
        }
        write_json(files["json"][-1], record)
    words = ("--source", folder / "train.source", "--target", folder / "train.target", "--teacher", folder / "teacher")
    outs = ("--out", folder / "out", "--manifest", folder / "manifest.json")
    axenat(
        "gather",
        "--config",
        folder / "clean.yaml",
        "--shards",
        *files["target"],
        "--records",
        *files["json"],
        *words,
        *outs,
    )
    write_lines(folder / "plain.ours", written)
    write_lines(folder / "plain.real", known)
    return language, folder, read_json(folder / "manifest.json")


def test_shards_are_joined_by_number_each_line_beside_its_own_source(gathered) -> None:
    _, folder, manifest = gathered
    outputs = [line for number in range(1, SHARDS + 1) for line in read_lines(folder / f"{number}-of-{SHARDS}.target")]
    records = [read_json(folder / f"{number}-of-{SHARDS}.json") for number in range(1, SHARDS + 1)]
    (runaway,) = (line - 1 for record in records for line in record["runaway"])
    targets, found = read_lines(folder / "train.target"), read_lines(folder / "out")
    real = {place for place, line in enumerate(outputs) if not line or len(line.split()) > 250} | {runaway}
    assert found == [
        target if place in real else line for place, (line, target) in enumerate(zip(outputs, targets, strict=True))
    ]
    assert (manifest["sentences"], manifest["shards"]) == (MANY, SHARDS)
    assert manifest["replaced_by_real"] == len(real) == sum(a != b for a, b in zip(found, outputs, strict=True))
    assert manifest["empty"] == outputs.count("") and manifest["runaway"] == 1
    assert manifest["filtered"]["too_long"] == len(real) - 1 - outputs.count("")
    assert manifest["cut_sources"] == sum(range(1, SHARDS + 1))
    assert manifest["same_as_real"] == sum(a == b for a, b in zip(outputs, targets, strict=True))


def test_the_sample_is_every_so_many_lines_scored_by_the_sacrebleu_command_in_plain_text(tmp_path, gathered) -> None:
    """Plain is what the words were made of."""
    language, folder, manifest = gathered
    sample = manifest["sample"]
    assert sample["sentences"] == 2000
    places = [place * MANY // 2000 for place in range(2000)]
    for name in ("ours", "real"):
        lines = read_lines(folder / f"plain.{name}")
        write_lines(tmp_path / name, [lines[place] for place in places])
    tokenize = "zh" if language == "zh" else "13a"
    bleu = sacrebleu(tmp_path / "real", "-i", tmp_path / "ours", "-m", "bleu", "--tokenize", tokenize)
    assert sample["bleu"] == pytest.approx(bleu["score"], abs=1e-9)
    assert sample["signature"] == bleu["signature"]
