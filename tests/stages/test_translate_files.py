"""The files of `axenat translate` belong together, to the flags that were given, and to the text that came in."""

import html
import shutil

import pytest

from axenat.data.vocab import Vocab
from axenat.files import read_json, read_lines, read_yaml, write_json, write_lines, write_yaml
from axenat.stages import distil, translate
from tests.support.house import MULTIPLIERS, OBJECTIVES, PENALTIES, run
from tests.support.toys import MARKED_ENGLISH, chinese, marked

each_run = pytest.mark.parametrize("name", OBJECTIVES)


def translated(model, source, place, **flags) -> dict[str, list[str]]:
    out = {name: place / f"out.{name}" for name in ("output", "tokenised", "subwords")}
    run(translate, model=model, input=source, **{**out, **flags}, threads=1)
    return {name: read_lines(path) for name, path in out.items()}


def unspaced(text: str) -> str:
    return text.replace(" ", "")


def joined(subwords: str) -> str:
    return f"{subwords} ".replace("@@ ", "").strip()


@pytest.fixture(scope="module", params=["left_to_right", "masked"])
def toy(request, tmp_path_factory):
    made = marked(tmp_path_factory.mktemp("marked"))
    made.make(request.param, beam_size=2, num_length_candidates=2)
    write_json(made.run / "tuned.json", {"value": 1.0})
    return made


def test_text_words_and_subwords_are_of_the_same_translations(toy, tmp_path) -> None:
    """What the rules for text did is undone in the text alone: there, quotes, signs and hyphens are plain."""
    found = translated(toy.run, toy.text["source"], tmp_path)
    vocab, marks = set(Vocab.load(toy.run / "vocab.target").tokens), set()
    for text, words, subwords in zip(*found.values(), strict=True):
        assert set(subwords.split()) <= vocab
        assert joined(subwords).casefold() == words.casefold()
        assert unspaced(text) == unspaced(html.unescape(words).replace("@-@", "-"))
        marks |= {mark for mark in ("&quot;", "&amp;", "@-@", "%", "&lt;") if mark in words}
        assert not any(mark in text for mark in ("&quot;", "&amp;", "@-@", "&lt;"))
    assert marks - {"%"}
    assert len(set(found["output"])) > 1
    assert any(joined(subwords) != words for _, words, subwords in zip(*found.values(), strict=True))


def test_a_truecased_translation_begins_with_a_capital(toy, tmp_path) -> None:
    found = translated(toy.run, toy.text["source"], tmp_path)
    firsts = [words[0] for words in found["tokenised"] if words[0].isalpha()]
    assert firsts and all(first.isupper() for first in firsts)


def test_a_line_is_read_by_the_rules_that_cleaned_the_training_text(toy, tmp_path) -> None:
    """Words that Moses would give without them are unknown to the model, and translated otherwise."""
    teacher = toy.run.parent / "copy"
    shutil.copytree(toy.run, teacher, dirs_exist_ok=True)
    found = translated(toy.run, toy.text["source"], tmp_path)["subwords"]
    values = read_yaml(teacher / "text.yaml")
    write_yaml(teacher / "text.yaml", {**values, "escape": False, "aggressive_hyphens": False})
    assert read_lines(toy.text["source"]) == MARKED_ENGLISH
    assert translated(teacher, toy.text["source"], tmp_path)["subwords"] != found


def test_translate_reads_plain_text_as_distil_reads_the_words_of_clean(tmp_path) -> None:
    toy = marked(tmp_path)
    toy.make("left_to_right", beam_size=2)
    write_json(toy.run / "tuned.json", {"value": 0.5})
    out = tmp_path / "distilled.txt"
    run(distil, model=toy.run, source=toy.words["source"], shard="1-of-1", out=out, record=tmp_path / "record.json")
    assert read_lines(out) == translated(toy.run, toy.text["source"], tmp_path)["tokenised"]


def test_chinese_comes_out_without_spaces_and_in_words(tmp_path) -> None:
    toy = chinese(tmp_path)
    toy.make("masked", num_length_candidates=2)
    found = translated(toy.run, toy.text["source"], tmp_path)
    for text, words, subwords in zip(*found.values(), strict=True):
        assert text == words.replace(" ", "") and joined(subwords) == words
    assert any(" " in words for words in found["tokenised"])


@pytest.mark.parametrize(
    ("name", "decode", "keys", "value"),
    [
        ("teacher", "beam4", {"beam_size": 4}, PENALTIES[1]),
        ("ce", "ell1", {"num_length_candidates": 1}, MULTIPLIERS[1]),
        ("ce", "ell2-t3", {"iterations": 3}, MULTIPLIERS[1]),
        ("axe", "ell4", {"num_length_candidates": 4}, MULTIPLIERS[1]),
    ],
)
def test_a_decoding_by_name_is_that_of_a_run_with_these_settings(house, tmp_path, name, decode, keys, value) -> None:
    source, folder = house.data / "valid.en", tmp_path / "run"
    record = tmp_path / "record.json"
    named = translated(house.runs[name], source, tmp_path, decode=decode, record=record)
    assert read_json(record)["decode"] == decode and read_json(record)["value"] == value
    shutil.copytree(house.runs[name], folder, ignore=shutil.ignore_patterns("checkpoints"))
    write_yaml(folder / "decode.yaml", {**read_yaml(folder / "decode.yaml"), **keys})
    assert named == translated(folder, source, tmp_path)
    assert named != translated(house.runs[name], source, tmp_path)


@each_run
def test_the_tuned_value_decodes(house, tmp_path, name) -> None:
    """Without tuned.json the first value of the grid serves, which is the worse one here."""
    folder, source = tmp_path / "run", house.data / "valid.en"
    shutil.copytree(house.runs[name], folder, ignore=shutil.ignore_patterns("checkpoints"))
    tuned = read_json(folder / "tuned.json")
    first, best = read_yaml(folder / "decode.yaml")[{"teacher": "length_penalties"}.get(name, "length_multipliers")]
    assert tuned["value"] == best
    found = {}
    for value in (best, first):
        write_json(folder / "tuned.json", {**tuned, "value": value})
        found[value] = translated(folder, source, tmp_path)
    assert found[best] == translated(house.runs[name], source, tmp_path) != found[first]
    (folder / "tuned.json").unlink()
    assert found[first] == translated(folder, source, tmp_path)


@each_run
def test_the_best_of_several_is_the_one_that_a_plain_translation_gives(house, tmp_path, name) -> None:
    plain = translated(house.runs[name], house.data / "valid.en", tmp_path)
    several = translated(house.runs[name], house.data / "valid.en", tmp_path, n_best=2)
    rows = [line.split("\t") for line in several["output"]]
    firsts = {int(number): text for number, text in reversed(rows)}
    assert [firsts[number] for number in sorted(firsts)] == plain["output"]
    assert sorted(firsts) == list(range(1, len(plain["output"]) + 1)) and len(rows) > len(firsts)
    assert several["tokenised"] == plain["tokenised"] and several["subwords"] == plain["subwords"]


def test_engine_and_precision_reach_the_decoder_and_the_record(house, tmp_path) -> None:
    write_lines(tmp_path / "in.txt", read_lines(house.data / "valid.en")[:2])
    record = tmp_path / "record.json"
    for engine, precision in (("torch", "float32"), ("ctranslate2", "int8"), ("ctranslate2", "float32")):
        translated(
            house.runs["teacher"],
            tmp_path / "in.txt",
            tmp_path,
            engine=engine,
            precision=precision,
            record=record,
        )
        assert (read_json(record)["engine"], read_json(record)["precision"]) == (engine, precision)
