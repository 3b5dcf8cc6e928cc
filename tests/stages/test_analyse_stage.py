"""What `axenat analyse` writes of a run, recomputed from the texts and the model by slower hands."""

import math
import shutil

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from axenat.data.corpus import ParallelCorpus
from axenat.data.vocab import BLANK, BOS, MASK, PAD, Vocab
from axenat.files import read_json, read_lines, read_yaml, write_lines, write_yaml
from axenat.stages import analyse, encode, translate
from tests.reference.axe import algorithm_1
from tests.reference.skips import (
    blank_page_log_probs,
    half_up,
    length_log_probs,
    mean_confidence,
    num_skips,
    skip_rates,
)
from tests.support.house import ANALYSIS, DELTA, MULTIPLIERS, OBJECTIVE, OBJECTIVES, run
from tests.support.toys import CHINESE, chinese, marked, model_of

each_run = pytest.mark.parametrize("name", OBJECTIVES)
MULTIPLIER = OBJECTIVE["axe"]["train_length_multiplier"]
# A masked model decodes an ordinary <eos>; AXE's decodes blanks too.
BANNED = {"ce": (PAD, BOS, MASK, BLANK), "axe": (PAD, BOS, MASK)}


def analysed(house, name: str, place, **changes) -> dict:
    """Of valid, with further references for hypotheses: every line is right here and wrong there."""
    hypothesis = place / "hypothesis.txt"
    if not hypothesis.exists():
        lines = zip(*map(read_lines, house.references("valid")[1:]), strict=True)
        write_lines(hypothesis, (f"{one[: number + 9]} {two[20:]}" for number, (one, two) in enumerate(lines)))
    flags = {
        "config": house.path / "analysis.yaml",
        "model": house.runs[name],
        "source": house.data / "valid.en",
        "references": house.references("valid"),
        "hypothesis": hypothesis,
        "split": "valid",
        "out": place / "analysis.json",
    }
    run(analyse, **{**flags, **changes}, threads=1)
    return read_json(place / "analysis.json")


@pytest.fixture(scope="module")
def found(house, tmp_path_factory) -> dict[str, dict]:
    return {name: analysed(house, name, tmp_path_factory.mktemp(name)) for name in ("ce", "axe")}


def num_tokens(line: str) -> int:
    return len(Tokenizer13a()(line).split())


def slow_buckets(hypotheses, references, bounds, tokenize, length_of) -> list[dict]:
    expected = []
    for low, high in zip(bounds, [*bounds[1:], math.inf], strict=True):
        inside = [number for number, line in enumerate(references[0]) if low <= length_of(line) < high]
        chosen = [[lines[number] for number in inside] for lines in (hypotheses, *references)]
        score = BLEU(tokenize=tokenize, force=True).corpus_score(chosen[0], chosen[1:]).score if inside else None
        expected.append({"low": low, "num_sentences": len(inside), "bleu": score})
    return expected


def same_buckets(buckets: list[dict], expected: list[dict]) -> bool:
    return len(buckets) == len(expected) and all(
        one == {**one, **other, "bleu": pytest.approx(other["bleu"], abs=1e-9)}
        for one, other in zip(buckets, expected, strict=True)
    )


def test_a_bucket_counts_and_scores_the_hypotheses_of_its_lengths(house, tmp_path) -> None:
    buckets = analysed(house, "teacher", tmp_path)["buckets"]
    hypotheses, references = read_lines(tmp_path / "hypothesis.txt"), [*map(read_lines, house.references("valid"))]
    bounds = ANALYSIS["length_bounds"]
    expected = slow_buckets(hypotheses, references, bounds, "13a", num_tokens)
    assert same_buckets(buckets, expected)
    assert [bucket["num_sentences"] for bucket in buckets] == [0, 1, 2, 4, 4]
    assert all(0 < bucket["bleu"] < 100 for bucket in buckets[1:])
    assert [bucket["high"] for bucket in buckets] == [*bounds[1:], None]
    assert not same_buckets(buckets, slow_buckets(hypotheses, references[:1], bounds, "13a", num_tokens))


def test_a_hypothesis_of_one_letter_scores_nothing(house, tmp_path) -> None:
    write_lines(tmp_path / "hypothesis.txt", ["x"] * 11)
    assert {bucket["bleu"] for bucket in analysed(house, "teacher", tmp_path)["buckets"]} == {None, 0.0}


def test_buckets_of_chinese_are_of_characters(tmp_path) -> None:
    toy = chinese(tmp_path)
    toy.make("left_to_right", beam_size=2)
    hypotheses = [f"{line[1:4]}{line[:-3]}" for line in CHINESE]
    write_lines(tmp_path / "hypothesis.txt", hypotheses)
    write_yaml(tmp_path / "analysis.yaml", {"length_bounds": [1, 9, 15], "short_below": 5, "long_above": 9})
    flags = {"config": tmp_path / "analysis.yaml", "model": toy.run, "source": toy.text["source"], "split": "test"}
    out, hypothesis = tmp_path / "analysis.json", tmp_path / "hypothesis.txt"
    run(analyse, **flags, references=toy.text["target"], hypothesis=hypothesis, out=out, threads=1)
    expected = slow_buckets(hypotheses, [CHINESE], [1, 9, 15], "zh", len)
    assert same_buckets(read_json(out)["buckets"], expected)
    assert [bucket["num_sentences"] for bucket in expected] == [1, 3, 1]


def test_examples_are_the_first_lines_of_the_three_texts(house, tmp_path) -> None:
    examples = analysed(house, "teacher", tmp_path)["examples"]
    texts = (house.data / "valid.en", house.references("valid")[0], tmp_path / "hypothesis.txt")
    for side, path in zip(("source", "reference", "hypothesis"), texts, strict=True):
        assert [one[side] for one in examples] == read_lines(path)[:8]


def pairs_in(path) -> list[tuple[list[int], list[int]]]:
    ids = ParallelCorpus(path)
    return [(ids.source(i).tolist(), ids.target(i).tolist()) for i in range(len(ids))]


def pairs_of(house) -> list[tuple[list[int], list[int]]]:
    return pairs_in(house.ids("valid"))


@pytest.mark.parametrize("name", ["ce", "axe"])
@pytest.mark.parametrize(
    ("group", "belongs"),
    [
        ("short", lambda length: length < ANALYSIS["short_below"]),
        ("long", lambda length: length > ANALYSIS["long_above"]),
    ],
)
def test_confidence_is_the_mean_of_a_loop_over_sentences_of_these_lengths(house, found, name, group, belongs) -> None:
    """Lengths are the likeliest times the tuned multiplier, which is not the first of its grid."""
    folder, tuned = house.runs[name], read_json(house.runs[name] / "tuned.json")["value"]
    assert tuned == MULTIPLIERS[1]
    model, matrices = model_of(folder), []
    chosen = [source for source, target in pairs_of(house) if belongs(len(target))]
    assert 0 < len(chosen) < len(pairs_of(house)) / 2
    for source in chosen:
        classes = length_log_probs(model, source)
        length = max(2, half_up(tuned * max(range(len(classes)), key=classes.__getitem__)))
        matrices.append(blank_page_log_probs(model, source, length))
    confidence = found[name]["confidence"][group]
    assert confidence["num_sentences"] == len(chosen)
    expected = [mean_confidence(matrices, BANNED[name], offset) for offset in confidence["offsets"]]
    assert confidence["probability"] == pytest.approx(expected, rel=1e-4)
    assert confidence["probability"] != pytest.approx(expected[::-1], rel=1e-2)


def test_skip_rates_are_those_of_a_slow_alignment_with_the_runs_own_delta(house, found) -> None:
    rates = (found["axe"]["skip_target_rate"], found["axe"]["skip_prediction_rate"])
    assert rates == skip_rates(model_of(house.runs["axe"]), pairs_of(house), MULTIPLIER, DELTA)
    assert found["ce"]["skip_target_rate"] is found["ce"]["skip_prediction_rate"] is None


def test_alignments_are_of_pairs_of_valid_and_cost_what_algorithm_1_says(house, found) -> None:
    """With the run's own delta, and those first that use most operators."""
    model, vocab = model_of(house.runs["axe"]), Vocab.load(house.subwords / "vocab.target")
    pairs = dict(zip(read_lines(house.words("valid", "source")), pairs_of(house), strict=True))
    alignments = found["axe"]["alignments"]
    assert len(alignments) == 5
    operators = []
    for one in alignments:
        source, target = pairs.pop(one["source"])
        assert one["targets"] == vocab.decode(target)
        assert len(target) in range(7, 15)
        log_probs = blank_page_log_probs(model, source, half_up(len(target) * MULTIPLIER))
        assert one["total"] == pytest.approx(algorithm_1(log_probs, target, BLANK, DELTA), rel=1e-5)
        skipped = (one["operators"].count("skip_target"), sum(each["skipped"] for each in one["predictions"]))
        assert skipped == num_skips(log_probs, target, DELTA)
        assert one["skip_target_penalty"] == DELTA
        operators.append(len(set(one["operators"])) + bool(skipped[1]))
    assert operators == sorted(operators, reverse=True)
    assert all(len(target) not in range(7, 15) for _, target in pairs.values())


def test_the_pairs_that_are_shown_use_most_operators(house, tmp_path) -> None:
    """Of all short pairs of train, the first of those that are equally good; with delta 1, some skip targets."""
    folder = tmp_path / "run"
    shutil.copytree(house.runs["axe"], folder, ignore=shutil.ignore_patterns("checkpoints"))
    config = read_yaml(folder / "config.yaml")
    write_yaml(folder / "config.yaml", {**config, "objective": {**config["objective"], "skip_target_penalty": 1.0}})
    files = {"source": house.data / "train.en", "references": house.data / "train.de"}
    record = analysed(house, "axe", tmp_path, **files, hypothesis=house.data / "train.de", model=folder)
    model, operators = model_of(folder), {}
    pairs = zip(read_lines(house.words("train", "source")), pairs_in(house.ids("train")), strict=True)
    for line, (source, target) in [pair for pair in pairs if len(pair[1][1]) in range(7, 15)][:60]:
        log_probs = blank_page_log_probs(model, source, half_up(len(target) * MULTIPLIER))
        operators[line] = sum(map(bool, num_skips(log_probs, target, 1.0)))
    assert [one["source"] for one in record["alignments"]] == sorted(
        operators, key=operators.__getitem__, reverse=True
    )[:6]
    assert len(set(operators.values())) == 2


def test_plain_text_is_read_as_clean_and_encode_read_it(tmp_path) -> None:
    """With rules for text: the pairs that are aligned are those of the files of words and ids."""
    toy = marked(tmp_path)
    toy.make("axe", objective_keys=OBJECTIVE["axe"], num_length_candidates=2)
    run(encode, subwords=toy.run, **toy.words, out=tmp_path / "ids.safetensors", threads=1)
    write_yaml(tmp_path / "analysis.yaml", {"length_bounds": [1], "short_below": 60, "long_above": 60})
    flags = {"config": tmp_path / "analysis.yaml", "model": toy.run, "source": toy.text["source"], "split": "test"}
    out, target = tmp_path / "analysis.json", toy.text["target"]
    run(analyse, **flags, references=target, hypothesis=target, out=out, threads=1)
    analysis, pairs = read_json(out), pairs_in(tmp_path / "ids.safetensors")
    rates = (analysis["skip_target_rate"], analysis["skip_prediction_rate"])
    assert rates == skip_rates(model_of(toy.run), pairs, MULTIPLIER, DELTA)
    (one,) = analysis["alignments"]  # no pair is short enough to be drawn, so it is the first
    assert one["source"] == read_lines(toy.words["source"])[0]
    assert one["targets"] == Vocab.load(toy.run / "vocab.target").decode(pairs[0][1])


@each_run
def test_confidence_is_of_runs_that_predict_all_at_once_and_alignments_of_axe_alone(house, tmp_path, name) -> None:
    run(translate, model=house.runs[name], input=house.data / "valid.en", output=tmp_path / "hypothesis.txt")
    record = analysed(house, name, tmp_path)
    assert (record["run"], record["split"]) == (name, "valid")
    assert (record["confidence"] is None) == (name == "teacher")
    assert bool(record["alignments"]) == (record["skip_target_rate"] is not None) == (name == "axe")
