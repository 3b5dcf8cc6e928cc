"""What `axenat tune` writes is what its own translations score, by sacrebleu and by a slow alignment."""

import shutil

import pytest
from sacrebleu.metrics.bleu import BLEU

from axenat.data.corpus import ParallelCorpus
from axenat.evaluate.choose import RULE
from axenat.files import read_json, read_lines, write_json, write_lines
from axenat.stages import translate, tune
from tests.reference.skips import skip_rates
from tests.support.house import DELTA, GRAMMAR, MULTIPLIERS, OBJECTIVE, OBJECTIVES, PENALTIES, run
from tests.support.toys import chinese, marked, model_of

each_run = pytest.mark.parametrize("name", OBJECTIVES)


def translated(model, source, value: float, place) -> list[str]:
    """What `axenat translate` writes if this is the tuned value."""
    folder = place / f"run-{value}"
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("checkpoints", "tuned.json"))
    write_json(folder / "tuned.json", {"value": value})
    run(translate, model=folder, input=source, output=folder / "out.txt", threads=1)
    return read_lines(folder / "out.txt")


def by_sacrebleu(hypotheses: list[str], references: list[list[str]], tokenize: str) -> tuple[float, str]:
    metric = BLEU(tokenize=tokenize, force=True)
    score = metric.corpus_score(hypotheses, references).score
    return score, str(metric.get_signature())


def check_candidates(tuned: dict, texts: list[list[str]], references: list[list[str]], tokenize: str) -> None:
    scores = [by_sacrebleu(text, references, tokenize)[0] for text in texts]
    assert [one["bleu"] for one in tuned["candidates"]] == pytest.approx(scores, abs=1e-9)
    assert len({tuple(text) for text in texts}) == len(texts) == len(set(scores))
    best = max(tuned["candidates"], key=lambda one: one["bleu"])
    assert (tuned["value"], tuned["bleu"]) == (best["value"], best["bleu"])
    assert tuned["signature"] == by_sacrebleu(texts[0], references, tokenize)[1]


@each_run
def test_each_value_of_the_grid_scores_what_its_own_translations_of_valid_score(house, tmp_path, name) -> None:
    tuned = read_json(house.runs[name] / "tuned.json")
    key, grid = ("length_penalty", PENALTIES) if name == "teacher" else ("length_multiplier", MULTIPLIERS)
    assert (tuned["run"], tuned["key"], tuned["split"], tuned["rule"]) == (name, key, "valid", RULE)
    assert [one["value"] for one in tuned["candidates"]] == grid
    texts = [translated(house.runs[name], house.data / "valid.en", value, tmp_path) for value in grid]
    references = [read_lines(path) for path in house.references("valid")]
    assert [len(lines) for lines in (*texts, *references)] == [GRAMMAR["valid"]] * (len(grid) + 3)
    check_candidates(tuned, texts, references, "13a")
    assert ("skip_target_rate" in tuned) == (name == "axe")


@pytest.mark.parametrize(("toy_of", "tokenize"), [(chinese, "zh"), (marked, "13a")])
def test_candidates_are_scored_as_plain_text_by_the_tokeniser_of_their_language(tmp_path, toy_of, tokenize) -> None:
    """Escaped and split words of Moses would score otherwise, and so would Chinese in sentences without spaces."""
    toy = toy_of(tmp_path / "toy")
    toy.make("masked", length_multipliers=MULTIPLIERS, num_length_candidates=2)
    texts = [translated(toy.run, toy.text["source"], value, tmp_path) for value in MULTIPLIERS]
    # Near to what the model says, or all would score nothing.
    references = [*texts[1][:-1], texts[0][-1]]
    write_lines(tmp_path / "references.txt", references)
    files = {"references": tmp_path / "references.txt", "out": tmp_path / "tuned.json"}
    run(tune, model=toy.run, source=toy.text["source"], **files, threads=1)
    tuned = read_json(tmp_path / "tuned.json")
    check_candidates(tuned, texts, [references], tokenize)
    assert f"tok:{tokenize}" in tuned["signature"]


def test_of_values_with_equal_translations_the_smallest_is_chosen(house, tmp_path) -> None:
    """Every length is the same at these multipliers, for no source is so long that they could differ."""
    grid = [1.0002, 1.0001, 1.0003]
    house.write_config(tmp_path, "ce", decode={"length_multipliers": grid})
    for name in ("model.safetensors", *(path.name for path in house.subwords.iterdir())):
        shutil.copy(house.runs["ce"] / name, tmp_path)
    house.tune(tmp_path, tmp_path / "tuned.json")
    tuned = read_json(tmp_path / "tuned.json")
    assert len({one["bleu"] for one in tuned["candidates"]}) == 1
    assert [one["value"] for one in tuned["candidates"]] == grid
    assert tuned["value"] == min(grid)


def test_skip_rates_are_those_of_a_slow_alignment_with_the_runs_own_delta(house) -> None:
    tuned = read_json(house.runs["axe"] / "tuned.json")
    ids = ParallelCorpus(house.ids("valid"))
    pairs = [(ids.source(i).tolist(), ids.target(i).tolist()) for i in range(len(ids))]
    model, multiplier = model_of(house.runs["axe"]), OBJECTIVE["axe"]["train_length_multiplier"]
    found = (tuned["skip_target_rate"], tuned["skip_prediction_rate"])
    assert found == skip_rates(model, pairs, multiplier, DELTA)
    assert found != skip_rates(model, pairs, multiplier, 1.0)
    assert found != skip_rates(model, pairs, 1.0, DELTA)
    assert min(found) > 0


def test_every_reference_counts(house, tmp_path) -> None:
    """Further references that are the hypotheses themselves make any value perfect."""
    folder = house.runs["ce"]
    texts = [translated(folder, house.data / "valid.en", value, tmp_path) for value in MULTIPLIERS]
    references = [house.references("valid")[0]]
    for number, text in enumerate(texts):
        references.append(tmp_path / f"{number}.txt")
        write_lines(references[-1], text)
    run(tune, model=folder, source=house.data / "valid.en", references=references, out=tmp_path / "tuned.json")
    assert [one["bleu"] for one in read_json(tmp_path / "tuned.json")["candidates"]] == pytest.approx([100.0, 100.0])


def test_tuning_does_not_depend_on_an_earlier_tuning(house, tmp_path) -> None:
    folder = house.runs["axe"]
    house.tune(folder, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (folder / "tuned.json").read_bytes()
