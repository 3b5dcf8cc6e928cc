"""Shards become one text if they belong together; what the teacher spoilt keeps its real target."""

from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.corpus_config import CleanConfig
from axenat.data.distilled import RULE, evenly_spaced, why_real
from axenat.data.text import detokenise, pair_reason
from axenat.evaluate.bleu import bleu
from axenat.files import UserError, read_json, read_lines, sha256_of, write_json, write_lines, write_yaml
from axenat.stages import distil, gather
from tests import distilling
from tests.support.house import run

LIMITS = {"min_length": 2, "max_length": 6, "max_ratio": 2.0}
#          kept          same     empty  runaway  too_short  too_long         ratio
OUTPUTS = ["a b", "x x", "", "c c", "c", "c c c c c c c", "c c c c c"]
SOURCES = ["s s", "s s", "s s", "s s", "s s", "s s s s s", "s s"]
TARGETS = ["r r", "x x", "r r", "r r", "r r", "r r r r r", "r r"]
RUNAWAY = 4


class Shards:
    """Two shards of the lines above, as `distil` would have written them."""

    def __init__(self, folder) -> None:
        self.folder, self.teacher = folder, folder / "teacher"
        write_lines(self.teacher / "model.safetensors", ["weights"])
        write_json(self.teacher / "tuned.json", {"value": 1.2})
        write_yaml(folder / "clean.yaml", {**LIMITS, "source_language": "en", "target_language": "de"})
        write_lines(folder / "train.source", SOURCES)
        write_lines(folder / "train.target", TARGETS)
        self.texts = [folder / "1-of-2.target", folder / "2-of-2.target"]
        self.records = [folder / "1-of-2.json", folder / "2-of-2.json"]
        for number, lines in ((1, OUTPUTS[:3]), (2, OUTPUTS[3:])):
            self.write(number, lines, first_line=1 if number == 1 else 4)

    def write(self, number: int, lines: list[str], **changes) -> None:
        write_lines(self.texts[number - 1], lines)
        record = {
            "shard": f"{number}-of-2", "teacher_sha256": sha256_of(self.teacher / "model.safetensors"),
            "source_sha256": sha256_of(self.folder / "train.source"), "engine": "ctranslate2", "precision": "int8",
            "beam_size": 4, "length_penalty": 1.2, "first_line": 1, "lines": len(lines),
            "text_sha256": sha256_of(self.texts[number - 1]), "cut_sources": number,
            "runaway": [RUNAWAY] if number == 2 else [], "empty": [],
        }  # fmt: skip
        write_json(self.records[number - 1], {**record, **changes})

    def change(self, number: int, **changes) -> None:
        path = self.records[number - 1]
        write_json(path, {**read_json(path), **changes})

    def gather(self, **changes) -> dict:
        flags = {
            "config": self.folder / "clean.yaml", "shards": self.texts, "records": self.records,
            "source": self.folder / "train.source", "target": self.folder / "train.target",
            "teacher": self.teacher, "out": self.folder / "out", "manifest": self.folder / "manifest.json",
        }  # fmt: skip
        run(gather, **{**flags, **changes})
        return read_json(self.folder / "manifest.json")


@pytest.fixture
def shards(tmp_path) -> Shards:
    return Shards(tmp_path)


def refused(made: Shards, sentence: str, **changes) -> None:
    with pytest.raises(UserError, match=sentence):
        made.gather(**changes)
    assert not (made.folder / "out").exists() and not (made.folder / "manifest.json").exists()


def test_what_the_teacher_spoilt_keeps_its_real_target_and_all_else_is_the_teachers(shards) -> None:
    shards.gather()
    assert read_lines(shards.folder / "out") == [*OUTPUTS[:2], *TARGETS[2:]]


def test_the_manifest_counts_every_reason_and_says_how_the_text_was_made(shards) -> None:
    manifest = shards.gather()
    assert manifest.pop("sample").keys() == {"sentences", "bleu", "signature"}
    assert manifest == {
        "teacher_sha256": sha256_of(shards.teacher / "model.safetensors"),
        "source_sha256": sha256_of(shards.folder / "train.source"),
        "tuned_sha256": sha256_of(shards.teacher / "tuned.json"),
        "engine": "ctranslate2", "precision": "int8", "beam_size": 4, "length_penalty": 1.2,
        "shards": 2, "sentences": 7, "empty": 1, "runaway": 1,
        "filtered": {"too_short": 1, "too_long": 1, "ratio": 1, "wrong_script": 0},
        "replaced_by_real": 5, "cut_sources": 3, "same_as_real": 1, "rule": RULE,
        "filter": {**LIMITS, "drop_wrong_script": False},
    }  # fmt: skip


def test_the_sample_scores_the_teachers_own_outputs_against_the_real_targets(shards) -> None:
    sample = shards.gather()["sample"]
    outputs, targets = ([detokenise(line, "de") for line in lines] for lines in (OUTPUTS, TARGETS))
    expected = bleu(outputs, [targets], num_bootstrap=0)
    assert sample == {"sentences": 7, "bleu": expected["bleu"], "signature": expected["signature"]}


@given(st.integers(0, 10**8), st.integers(1, 50))
def test_a_sample_is_evenly_spaced_and_never_too_large(lines, most) -> None:
    numbers = sorted(evenly_spaced(lines, most))
    assert len(numbers) == min(lines, most) and all(0 <= number < lines for number in numbers)
    steps = {after - before for before, after in pairwise(numbers)}
    assert not steps or max(steps) - min(steps) <= 1


words = st.lists(st.sampled_from("ab"), max_size=12).map(" ".join)


@given(words, words, st.booleans(), st.integers(1, 4), st.integers(0, 6), st.sampled_from([1.0, 1.5, 3.0]))
def test_an_output_is_kept_if_it_ended_and_clean_would_keep_the_pair(
    source, output, runaway, least, more, ratio
) -> None:
    clean = CleanConfig(min_length=least, max_length=least + more, max_ratio=ratio)
    unfit = partial(pair_reason, rules=clean, source_language="en", target_language="de")
    assert (why_real(source, output, runaway, unfit) is None) == (unfit(source, output) is None and not runaway)
    if not output:
        assert why_real(source, output, runaway, unfit) == "empty"


def test_equal_outputs_stay_even_where_clean_drops_equal_pairs(shards) -> None:
    languages = {"source_language": "en", "target_language": "de"}
    write_yaml(shards.folder / "clean.yaml", {**LIMITS, "drop_duplicates": True, **languages})
    shards.write(1, ["a b"] * 3)
    assert shards.gather()["replaced_by_real"] == 4


@pytest.mark.parametrize(
    ("key", "value"),
    [("teacher_sha256", "other"), ("source_sha256", "other"), ("length_penalty", 0.5), ("engine", "torch"),
     ("precision", "float32"), ("beam_size", 5)],
)  # fmt: skip
def test_a_shard_that_was_made_with_something_else_is_named(shards, key, value) -> None:
    shards.change(2, **{key: value})
    refused(
        shards, rf"shard 2-of-2 was made with {key} {value}, expected .*; delete both files of the shard and distil"
    )


def test_a_changed_teacher_or_tuning_makes_its_shards_stale(shards) -> None:
    write_json(shards.teacher / "tuned.json", {"value": 0.9})
    refused(shards, r"shard 1-of-2 was made with length_penalty 1\.2, expected 0\.9")
    write_lines(shards.teacher / "model.safetensors", ["other weights"])
    refused(shards, r"shard 1-of-2 was made with teacher_sha256 \w+, expected \w+; delete both files")


def test_shards_out_of_order_or_too_few_are_refused(shards) -> None:
    order = {"shards": shards.texts[::-1], "records": shards.records[::-1]}
    refused(shards, "shard 2-of-2 stands where 1-of-2 belongs; give all shards, in order", **order)
    refused(shards, "shard 1-of-2 stands where 1-of-1 belongs", shards=shards.texts[:1], records=shards.records[:1])
    refused(shards, "2 shards but 1 records; give one record for each shard", records=shards.records[:1])


def test_shards_with_a_gap_or_an_overlap_are_refused(shards) -> None:
    for first in (3, 5):
        shards.change(2, first_line=first)
        refused(shards, f"shard 2-of-2 begins with line {first}, expected 4; delete both files of the shard")


def test_a_text_that_is_not_the_one_of_its_record_is_refused(shards) -> None:
    write_lines(shards.texts[0], OUTPUTS[:2])
    refused(shards, r"1-of-2\.target has 2 lines, but shard 1-of-2 should have 3; delete both files")
    write_lines(shards.texts[0], ["a b", "x x", "changed"])
    refused(shards, r"1-of-2\.target is not the text that shard 1-of-2 was recorded with; delete both files")


def test_a_real_side_of_another_length_is_refused(shards) -> None:
    write_lines(shards.folder / "train.target", TARGETS[:-1])
    refused(shards, r"the shards hold 7 lines but .*train\.target has 6")


def test_a_file_that_is_no_record_or_no_config_is_refused(shards) -> None:
    write_json(shards.records[0], {"shard": "1-of-2"})
    refused(shards, r"1-of-2\.json\.teacher_sha256 is missing")
    write_yaml(shards.folder / "clean.yaml", LIMITS)
    refused(shards, r"clean\.yaml\.source_language is missing")
    (shards.folder / "clean.yaml").unlink()
    refused(shards, r"clean\.yaml: no such file")


def test_what_distil_writes_gather_takes_whatever_the_number_of_shards(tmp_path) -> None:
    distilling.write_corpus(tmp_path)
    teacher = distilling.teacher(tmp_path / "teacher")
    write_yaml(tmp_path / "clean.yaml", {"max_ratio": 5.0, "source_language": "en", "target_language": "de"})
    texts, manifests = [], []
    for number in (1, 4):
        names = [f"{shard}-of-{number}" for shard in range(1, number + 1)]
        files = {end: [tmp_path / f"{name}.{end}" for name in names] for end in ("target", "json")}
        for name, out, record in zip(names, files["target"], files["json"], strict=True):
            run(distil, model=teacher, source=tmp_path / "train.source", shard=name, out=out, record=record, threads=1)
        run(gather, config=tmp_path / "clean.yaml", shards=files["target"], records=files["json"], teacher=teacher,
            source=tmp_path / "train.source", target=tmp_path / "train.target", out=tmp_path / "out",
            manifest=tmp_path / "manifest.json")  # fmt: skip
        texts.append((tmp_path / "out").read_bytes())
        manifests.append(read_json(tmp_path / "manifest.json"))
    assert texts[0] == texts[1]
    assert [manifest.pop("shards") for manifest in manifests] == [1, 4]
    assert manifests[0] == manifests[1]
    spoilt = manifests[0]["empty"] + manifests[0]["runaway"] + sum(manifests[0]["filtered"].values())
    assert 0 < spoilt == manifests[0]["replaced_by_real"] < distilling.LINES
