"""`axenat score`: each number is what another tool makes of the written files, and no number has two sources."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from axenat.files import read_json, read_lines, read_yaml, write_json, write_lines, write_yaml
from tests.reference.repetition import repetition_rate
from tests.support.evaluation_texts import PLAIN_LETTERS, Lazily, Scored, references, sacrebleu, tokenised

LANGUAGES = ("de", "ro", "zh")
WORDS_ALONE = ("--tokenize", "none", "--smooth-method", "none", "--force", "-m", "bleu")


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Lazily:
    """By language, the texts and their score."""

    def make(language: str) -> tuple[Scored, dict[str, Any]]:
        texts = Scored(folder=tmp_path_factory.mktemp(language), language=language).write()
        return texts, texts.score()

    return Lazily(make)


@pytest.mark.parametrize("language", LANGUAGES)
def test_bleu_chrf_and_ter_are_those_of_the_sacrebleu_command_on_the_plain_text(scored, language: str) -> None:
    texts, score = scored[language]
    options = ("--tokenize", "zh", "--ter-asian-support", "--ter-normalized") if language == "zh" else ()
    bleu, chrf, ter = sacrebleu(*texts.references, "-i", texts.path("txt"), "-m", "bleu", "chrf", "ter", *options)
    main = score["conventions"]["sacrebleu"]
    assert score["bleu"] == main["value"] == pytest.approx(bleu["score"], abs=1e-9)
    assert score["signature"] == main["signature"] == bleu["signature"]
    assert score["tokenize"] == ("zh" if language == "zh" else "13a")
    for name, found in (("chrf", chrf), ("ter", ter)):
        assert score["conventions"][name]["value"] == pytest.approx(found["score"], abs=1e-9)
        assert score["conventions"][name]["signature"] == found["signature"]
    lengths = re.search(r"hyp_len = (\d+) ref_len = (\d+)", bleu["verbose_score"])
    assert lengths and score["length_ratio"] == int(lengths[1]) / int(lengths[2])
    assert (score["num_sentences"], score["num_references"]) == (len(read_lines(texts.path("txt"))), 2)


def of_words(texts: Scored, change: Callable[[str], str] = str) -> Any:
    """Of the tokenised file, against the references in the words of other tools."""
    paths = [texts.folder / f"changed{number}" for number in range(3)]
    known = [tokenised(read_lines(path), texts.language) for path in texts.references]
    for path, lines in zip(paths, [read_lines(texts.path("tok.txt")), *known], strict=True):
        write_lines(path, map(change, lines))
    return sacrebleu(*paths[1:], "-i", paths[0], *WORDS_ALONE)


@pytest.mark.parametrize("language", LANGUAGES)
def test_tokenised_bleu_is_that_of_the_tokenised_file_and_of_references_in_the_words_of_the_corpus(
    scored, language: str
) -> None:
    texts, score = scored[language]
    found, expected = score["conventions"]["tokenised"], of_words(texts)
    assert found["value"] == pytest.approx(expected["score"], abs=1e-9)
    assert found["signature"] == expected["signature"]


def test_compound_split_bleu_is_that_of_the_tokenised_file_with_compounds_apart(scored) -> None:
    texts, score = scored["de"]
    changed = of_words(texts, lambda line: re.sub(r"([^ ])-([^ @])", r"\1 ##AT##-##AT## \2", line))
    assert score["conventions"]["compound_split"]["value"] == pytest.approx(changed["score"], abs=1e-9)


def test_romanian_without_diacritics_is_that_of_the_tokenised_file_in_plain_letters(scored) -> None:
    texts, score = scored["ro"]
    expected = of_words(texts, lambda line: line.translate(PLAIN_LETTERS))["score"]
    assert score["conventions"]["no_diacritics"]["value"] == pytest.approx(expected, abs=1e-9)
    assert expected != score["conventions"]["tokenised"]["value"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_that_equals_its_reference_scores_100_in_every_convention(tmp_path: Path, language: str) -> None:
    texts = Scored(folder=tmp_path, language=language).write()
    known = references(language)[0]
    write_lines(texts.path("txt"), known)
    write_lines(texts.path("tok.txt"), tokenised(known, language))
    for name, found in texts.score()["conventions"].items():
        assert found["value"] == (0.0 if name == "ter" else 100.0), name


@pytest.mark.parametrize("language", LANGUAGES)
def test_repetitions_are_counted_in_subwords_and_in_words(scored, language: str) -> None:
    texts, score = scored[language]
    subwords, words = (repetition_rate(read_lines(texts.path(form))) for form in ("bpe.txt", "tok.txt"))
    assert (score["repetition"], score["repetition_words"]) == (subwords, words)
    assert 0 < subwords != words > 0


def test_the_accepted_share_is_of_tokenised_lines_that_match_their_own_pattern_as_a_whole(scored) -> None:
    texts, _ = scored["de"]
    lines, plain = (read_lines(texts.path(form)) for form in ("tok.txt", "txt"))
    patterns = [
        (re.escape(line), re.escape(line[:-1]), re.escape(other), re.escape(before) + ".*", re.escape(line))[number % 5]
        for number, (line, other, before) in enumerate(zip(lines, plain, lines[-1:] + lines, strict=False))
    ]
    write_lines(texts.path("accept"), patterns)
    whole = sum(bool(re.fullmatch(pattern, line)) for pattern, line in zip(patterns, lines, strict=True))
    score = texts.score("--accept", texts.path("accept"), out="accepted.json")
    assert score["valid_share"] == whole / len(lines) == 9 / 24


def flat(score: dict[str, Any]) -> dict[str, Any]:
    """Conventions by name and key."""
    values = {key: value for key, value in score.items() if key != "conventions"}
    for name, one in score["conventions"].items():
        values |= {f"{name}.{key}": value for key, value in one.items()}
    return values


def keys(*names: str) -> set[str]:
    return {f"{name}.{key}" for name in names for key in ("value", "low", "high")}


MAIN = {"bleu", "bleu_low", "bleu_high"} | keys("sacrebleu")
PLAIN = MAIN | keys("chrf", "ter")
WORDS = keys("tokenised", "compound_split")


def other_lines(path: Path) -> None:
    """Every third line gives up its last words."""
    lines = read_lines(path)
    lines[::3] = [" ".join(line.split()[:-3]) for line in lines[::3]]
    write_lines(path, lines)


def other_values(**values: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        if path.suffix == ".yaml":
            write_yaml(path, read_yaml(path) | values)
        else:
            write_json(path, read_json(path) | values)

    return change


AXE = {"name": "axe", "skip_target_penalty": 2.5}
DEPENDS: dict[str, tuple[str, Callable[[Path], None], set[str]]] = {
    "hypothesis": ("run.txt", other_lines, PLAIN | {"length_ratio"}),
    "tokenised": ("run.tok.txt", other_lines, WORDS | {"repetition_words", "valid_share"}),
    "subwords": ("run.bpe.txt", other_lines, {"repetition"}),
    "first reference": ("ref0", other_lines, PLAIN | WORDS | {"length_ratio"}),
    "second reference": ("ref1", other_lines, PLAIN | WORDS | {"length_ratio"}),
    "accept": ("run.accept", lambda path: write_lines(path, ["x", *read_lines(path)[1:]]), {"valid_share"}),
    "hyphens": ("run.text.yaml", other_values(aggressive_hyphens=False), WORDS | {"tokenised.compared"}),
    "escape": ("run.text.yaml", other_values(escape=False), WORDS | {"tokenised.compared"}),
    "value": ("run.tuned.json", other_values(value=1.01), {"length_multiplier"}),
    "key": ("run.tuned.json", other_values(key="length_penalty"), {"length_multiplier", "length_penalty"}),
    "engine": ("run.decoded.json", other_values(engine="torch"), {"engine"}),
    "precision": ("run.decoded.json", other_values(precision="float32"), {"precision"}),
    "run": ("run.config.yaml", other_values(run="other"), {"run"}),
    "corpus": ("run.config.yaml", other_values(corpus="other"), {"corpus"}),
    "target side": ("run.config.yaml", other_values(target_side="raw"), {"target_side"}),
    "seed": ("run.config.yaml", other_values(seed=3), {"seed"}),
    "objective": ("run.config.yaml", other_values(objective=AXE | {"name": "masked"}), {"objective"}),
    "delta": ("run.config.yaml", other_values(objective=AXE | {"skip_target_penalty": 4}), {"skip_target_penalty"}),
    "ablation": ("run.config.yaml", other_values(objective=AXE | {"observe": "none"}), {"ablation"}),
}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scored, dict[str, Any]]:
    texts = Scored(folder=tmp_path_factory.mktemp("untouched"), language="de").write()
    write_lines(texts.path("accept"), map(re.escape, read_lines(texts.path("tok.txt"))))
    return texts, texts.score("--accept", texts.path("accept"))


@pytest.mark.parametrize("what", DEPENDS)
def test_a_changed_file_changes_the_numbers_that_it_makes_and_no_others(untouched, what: str) -> None:
    texts, before = untouched
    name, change, expected = DEPENDS[what]
    path = texts.folder / name
    content = path.read_bytes()
    try:
        change(path)
        # What decoded tells the value, too, and must agree.
        more = () if what != "value" else ("--record", _decoded_with(texts, 1.01))
        after = texts.score("--accept", texts.path("accept"), *more, out="other.json")
    finally:
        path.write_bytes(content)
    old, new = flat(before), flat(after)
    assert {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)} == expected


def _decoded_with(texts: Scored, value: float) -> Path:
    path = texts.path("with-other-value.json")
    write_json(path, read_json(texts.path("decoded.json")) | {"value": value})
    return path


def test_a_score_names_its_own_files_split_and_decoding(untouched) -> None:
    texts, score = untouched
    assert (score["hypothesis"], score["subwords"]) == (str(texts.path("txt")), str(texts.path("bpe.txt")))
    assert score["references"] == list(map(str, texts.references))
    assert (score["split"], score["decode"]) == ("test", "ell3")


def test_the_short_list_of_metrics_holds_the_numbers_of_the_score(untouched) -> None:
    texts, score = untouched
    texts.score("--metrics", texts.path("metrics.json"), out="again.json")
    names = ("bleu", "bleu_low", "bleu_high", "repetition", "length_ratio", "length_multiplier")
    expected = {name: score[name] for name in names}
    expected |= {name: score["conventions"][name]["value"] for name in ("chrf", "ter")}
    assert read_json(texts.path("metrics.json")) == expected
    assert len(set(expected.values())) == len(expected)
