"""clean, learn_subwords, encode and distil: what one writes is found again in what the next one reads."""

from collections import Counter
from itertools import pairwise

import pytest
from sacremoses import MosesTokenizer, MosesTruecaser
from safetensors import safe_open

from axenat.data.corpus import ParallelCorpus
from axenat.data.vocab import EOS, Vocab
from axenat.files import read_json, read_lines, sha256_of, write_json, write_lines, write_yaml
from axenat.stages import clean, distil, encode, learn_subwords, translate
from tests.support.house import CLEAN, GRAMMAR, LANGUAGES, run
from tests.support.toys import MARKED, marked

SIDES = ("source", "target")
# Each rule leaves out another number of pairs: two of source and target together, or one of them alone.
RULES = {**CLEAN, "min_length": 3, "max_length": 12, "max_ratio": 1.5, "drop_duplicates": True}
PAIRS = [
    ("The man - who reads - buys a car.", "Der Mann kauft ein Auto."),
    ("", "Nichts."),
    ("Yes.", "Ja, das ist gut."),
    ("No.", "Nein, gar nicht."),
    ("The old man reads.", "Er."),
    ("The old man reads the book at home today and also buys a car.", "Der alte Mann liest heute das Buch und kauft."),
    ("The old man reads it.", "Der Mann liest heute das gute alte Buch daheim."),
    ("one two three four five six", "eins zwei drei vier"),
    ("one two three four", "eins zwei drei vier fünf sechs"),
    ("one two three four", "eins zwei drei vier fünf sechs sieben"),
    ("The man buys 汽车 today.", "Der Mann kauft heute."),
    ("He reads at home.", "Er liest das 书 daheim."),
    ("He reads at home.", "Er liest daheim."),
    ("He reads at home.", "Er liest daheim."),
    ("He reads at home.", "Er liest hier."),
    ("He  reads at home.", "Er liest daheim."),
]
HAN = {"汽", "车", "书"}


def cleaned(place, split: str, pairs=PAIRS, **changes) -> tuple[list[tuple[str, ...]], dict]:
    """Tokenised pairs and counts."""
    raw, out = {side: place / f"raw.{side}" for side in SIDES}, {side: place / f"words.{side}" for side in SIDES}
    for side, lines in zip(SIDES, zip(*pairs, strict=True), strict=True):
        write_lines(raw[side], lines)
    write_yaml(place / "clean.yaml", {**RULES, **LANGUAGES, **changes})
    flags = {f"out_{side}": path for side, path in out.items()}
    run(clean, config=place / "clean.yaml", split=split, **raw, **flags, counts=place / "counts.json", threads=1)
    return list(zip(*map(read_lines, out.values()), strict=True)), read_json(place / "counts.json")


def moses(line: str, language: str, **text: bool) -> str:
    hyphens, escape = text.get("aggressive_hyphens", False), text.get("escape", False)
    words = MosesTokenizer(language).tokenize(line, aggressive_dash_splits=hyphens, escape=escape, return_str=True)
    return " ".join(words.split())


def reason_of(source: str, target: str, seen: set, drop_wrong_script: bool) -> str:
    lengths = sorted((len(source.split()), len(target.split())))
    reasons = {
        "empty": lengths[0] == 0,
        "too_short": lengths[0] < RULES["min_length"],
        "too_long": lengths[1] > RULES["max_length"],
        "ratio": lengths[1] > lengths[0] * RULES["max_ratio"],
        "wrong_script": drop_wrong_script and bool(HAN & set(source + target)),
        "duplicate": (source, target) in seen,
    }
    return next((reason for reason, holds in reasons.items() if holds), "kept")


@pytest.mark.parametrize("drop_wrong_script", [False, True])
def test_counts_of_clean_are_those_of_a_loop_over_the_raw_pairs(tmp_path, drop_wrong_script) -> None:
    found, counts = cleaned(tmp_path, "train", drop_wrong_script=drop_wrong_script)
    expected, reasons = [], Counter()
    for source, target in PAIRS:
        pair = (moses(source, "en"), moses(target, "de"))
        reason = reason_of(*pair, set(expected), drop_wrong_script)
        reasons[reason] += 1
        if reason == "kept":
            expected.append(pair)
    assert found == expected
    assert (counts["split"], counts["pairs"], counts["kept"]) == ("train", len(PAIRS), len(expected))
    for number, side in enumerate(SIDES):
        assert counts[f"{side}_words"] == sum(len(pair[number].split()) for pair in expected)
    assert {**counts["dropped"], "kept": len(expected)} == {
        name: reasons[name] for name in (*counts["dropped"], "kept")
    }
    assert min(count for name, count in reasons.items()) > 0 and len(reasons) == 6 + drop_wrong_script
    assert counts["source_words"] != counts["target_words"]


@pytest.mark.parametrize("split", ["valid", "test"])
def test_valid_and_test_stay_whole_under_rules_that_would_drop_most(tmp_path, split) -> None:
    found, counts = cleaned(tmp_path, split, drop_wrong_script=True)
    assert found == [(moses(source, "en"), moses(target, "de")) for source, target in PAIRS]
    assert counts["split"] == split and counts["kept"] == counts["pairs"] == len(PAIRS)
    assert set(counts["dropped"].values()) == {0}


@pytest.mark.parametrize("text", [{}, {"escape": True}, {"aggressive_hyphens": True}, MARKED])
def test_words_are_those_of_moses_under_the_rules_for_text(tmp_path, text) -> None:
    pairs = [('A "well-known" co-op\'s 5% & more', 'Die "sehr-gute" Co-op & 5 % mehr'), ("It's <b>", "<b> ist's")]
    found, _ = cleaned(tmp_path, "test", pairs, text=text)
    assert found == [(moses(source, "en", **text), moses(target, "de", **text)) for source, target in pairs]


def decoded(ids, vocab: Vocab) -> str:
    assert ids[-1] == EOS and EOS not in ids[:-1]
    return f"{' '.join(vocab.decode(ids[:-1]))} ".replace("@@ ", "").strip()


def lines_in(path, subwords) -> dict[str, list[str]]:
    corpus = ParallelCorpus(path)
    vocabs = [Vocab.load(subwords / f"vocab.{side}") for side in SIDES]
    sides = zip(SIDES, (corpus.source, corpus.target), vocabs, strict=True)
    return {side: [decoded(ids(i).tolist(), vocab) for i in range(len(corpus))] for side, ids, vocab in sides}


def test_ids_spell_the_words_of_their_own_side_and_split(house) -> None:
    """No letter of train is unknown; the other splits may hold some."""
    found = lines_in(house.ids("train"), house.subwords)
    assert found == {side: read_lines(house.words("train", side)) for side in SIDES}
    for split in ("valid", "test"):
        for side, lines in lines_in(house.ids(split), house.subwords).items():
            assert len(lines) == GRAMMAR[split]
            words = read_lines(house.words(split, side))
            known = [line == other for line, other in zip(lines, words, strict=True) if "<unk>" not in line]
            assert all(known) and len(known) > len(words) / 2


def test_distilled_ids_have_the_teachers_targets_and_the_sources_of_train(house) -> None:
    distilled, real = (lines_in(house.ids(name), house.subwords) for name in ("distilled", "train"))
    assert distilled["source"] == real["source"]
    assert distilled["target"] == read_lines(house.distilled / "train.target") != real["target"]


def test_ids_name_the_vocabulary_of_each_side(house) -> None:
    with safe_open(house.ids("train"), framework="numpy") as stream:
        metadata = stream.metadata()
    sums = {side: sha256_of(house.subwords / f"vocab.{side}") for side in SIDES}
    assert {side: metadata[f"{side}_vocab_sha256"] for side in SIDES} == sums
    assert sums["source"] != sums["target"]


def test_rare_subwords_are_left_out_from_min_count_on(house, tmp_path) -> None:
    """A subword that is met exactly so many times is in."""
    least, found = 3, {}
    write_yaml(tmp_path / "subwords.yaml", {"merges": 100, "joint": False, "min_count": least, **LANGUAGES})
    sides = {side: house.words("train", side) for side in SIDES}
    run(learn_subwords, config=tmp_path / "subwords.yaml", **sides, out=tmp_path / "out", threads=1)
    write_yaml(tmp_path / "subwords.yaml", {"merges": 100, "joint": False, **LANGUAGES})
    run(learn_subwords, config=tmp_path / "subwords.yaml", **sides, out=tmp_path / "all", threads=1)
    run(encode, subwords=tmp_path / "all", **sides, out=tmp_path / "all.safetensors", threads=1)
    corpus = ParallelCorpus(tmp_path / "all.safetensors")
    for side, ids in zip(SIDES, (corpus.source, corpus.target), strict=True):
        vocab = Vocab.load(tmp_path / "all" / f"vocab.{side}")
        counts = Counter(token for i in range(len(corpus)) for token in vocab.decode(ids(i).tolist()[:-1]))
        found[side] = {token for token, count in counts.items() if count >= least}
        assert set(Vocab.load(tmp_path / "out" / f"vocab.{side}").tokens[6:]) == found[side]
        assert least in counts.values() and len(found[side]) < len(counts)
    assert found["source"] != found["target"]


def test_truecasers_are_those_of_moses_for_their_own_side(tmp_path) -> None:
    """And the ids are of words in the case that the truecaser gives them."""
    toy = marked(tmp_path)
    out = tmp_path / "ids.safetensors"
    run(encode, subwords=toy.run, **toy.words, out=out, threads=1)
    found = lines_in(out, toy.run)
    for side in SIDES:
        lines, caser = read_lines(toy.words[side]), MosesTruecaser()
        caser.train([line.split() for line in lines], save_to=str(tmp_path / "moses"), processes=1)
        mine, theirs = read_lines(toy.run / f"truecase.{side}"), read_lines(tmp_path / "moses")
        assert sorted(line.split()[0] for line in mine) == sorted(line.split()[0] for line in theirs)
        assert [line.casefold() for line in found[side]] == [line.casefold() for line in lines]
        assert found[side] != lines
    assert read_lines(toy.run / "truecase.source") != read_lines(toy.run / "truecase.target")


@pytest.mark.parametrize("truecase", [False, True])
def test_every_subword_of_the_vocabularies_is_met_in_the_ids_of_train(house, tmp_path, truecase) -> None:
    """So words are counted as they are written, in the truecaser's case if there is one."""
    toy = marked(tmp_path)
    folder, words = (toy.run, toy.words) if truecase else (house.subwords, {s: house.words("train", s) for s in SIDES})
    run(encode, subwords=folder, **words, out=tmp_path / "ids", threads=1)
    corpus = ParallelCorpus(tmp_path / "ids")
    for side, ids in zip(SIDES, (corpus.source, corpus.target), strict=True):
        met = {token for i in range(len(corpus)) for token in ids(i).tolist()}
        assert met == {EOS, *range(6, len(Vocab.load(folder / f"vocab.{side}")))}


def test_a_shards_record_tells_its_own_lines_and_checksums(house) -> None:
    shards = house.distilled
    records = [read_json(shards / f"{number}-of-2.json") for number in (1, 2)]
    bounds, texts = [0], []
    for number, record in enumerate(records, start=1):
        text = shards / f"{number}-of-2.target"
        texts += read_lines(text)
        bounds.append(len(texts))
        assert record["shard"] == f"{number}-of-2"
        assert record["text_sha256"] == sha256_of(text)
        assert record["source_sha256"] == sha256_of(house.words("train", "source"))
        assert record["teacher_sha256"] == sha256_of(house.runs["teacher"] / "model.safetensors")
        assert record["length_penalty"] == read_json(house.runs["teacher"] / "tuned.json")["value"]
        assert record["beam_size"] == 2
    lines = [(start + 1, end - start) for start, end in pairwise(bounds)]
    assert [(record["first_line"], record["lines"]) for record in records] == lines
    assert bounds[-1] == GRAMMAR["train"] and bounds[1] > 0


def test_distilled_lines_are_the_teachers_unless_its_record_names_them(house, tmp_path) -> None:
    """The teacher's own words, as `axenat translate` gives them for the plain text of train, as many lines at once."""
    out = {name: tmp_path / name for name in ("output", "tokenised")}
    model, source = house.runs["teacher"], house.data / "train.en"
    run(translate, model=model, input=source, **out, threads=1, lines_at_once=GRAMMAR["train"] // 4)
    records = [read_json(house.distilled / f"{number}-of-2.json") for number in (1, 2)]
    runaway = {number for record in records for number in record["runaway"]}
    written = [line for n in (1, 2) for line in read_lines(house.distilled / f"{n}-of-2.target")]
    assert written == read_lines(out["tokenised"])
    real, distilled = read_lines(house.words("train", "target")), read_lines(house.distilled / "train.target")
    assert 0 < len(runaway) < len(written) / 2
    for number, lines in enumerate(zip(distilled, written, real, strict=True), start=1):
        assert lines[0] == lines[2 if number in runaway else 1]


def test_distil_decodes_with_the_value_that_was_tuned(house, tmp_path) -> None:
    teacher = tmp_path / "teacher"
    teacher.mkdir()
    for path in house.runs["teacher"].iterdir():
        if path.is_file():
            (teacher / path.name).write_bytes(path.read_bytes())
    found = []
    for value in (0.1, 3.0):
        write_json(teacher / "tuned.json", {"value": value})
        out, record = tmp_path / f"{value}.txt", tmp_path / f"{value}.json"
        run(distil, model=teacher, source=house.words("valid", "source"), shard="1-of-1", out=out, record=record)
        run(
            translate, model=teacher, input=house.data / "valid.en", output=tmp_path / "plain", tokenised=tmp_path / "w"
        )
        assert read_lines(out) == read_lines(tmp_path / "w")
        assert read_json(record)["length_penalty"] == value
        found.append(read_lines(out))
    assert found[0] != found[1]
