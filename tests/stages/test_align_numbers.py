"""What `axenat align` writes is the cheapest alignment, by Algorithm 1 line by line and by adding up its own costs."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from axenat import cli
from axenat.data.vocab import BLANK as BLANK_ID
from axenat.decode.translator import Translator
from axenat.files import read_json, read_yaml, write_yaml
from axenat.objectives.masking import blank_page
from tests import tiny
from tests.reference.axe import algorithm_1

WORDS = ["one", "<blank>", "two", "three", "four"]
BLANK = WORDS.index("<blank>")


def made_up(seed: int) -> dict[str, Any]:
    """Five predictions and four targets, no two probabilities alike."""
    chance = random.Random(seed)
    rows = [[chance.random() ** 3 for _ in WORDS] for _ in range(5)]
    probabilities = [[one / sum(row) for one in row] for row in rows]
    return {"vocabulary": WORDS, "probabilities": probabilities, "targets": ["two", "one", "four", "two"]}


def written(folder: Path, *words: str) -> dict[str, Any]:
    """What it writes as JSON."""
    assert cli.main(["align", *words, "--json", str(folder / "alignment.json")]) == 0
    found: dict[str, Any] = read_json(folder / "alignment.json")
    return found


def check_path(found: dict[str, Any], log_probs: list[list[float]], ids: list[int], blank: int, delta: float) -> None:
    """The written operators are an alignment, and its costs are those of the probabilities."""
    chosen, operators = found["prediction_of_target"], found["operators"]
    assert chosen == sorted(chosen) and len(chosen) == len(operators) == len(ids)
    paid = [-log_probs[j][token] * (delta if operator == "skip_target" else 1.0)
            for j, token, operator in zip(chosen, ids, operators, strict=True)]  # fmt: skip
    assert found["target_costs"] == pytest.approx(paid, rel=1e-5)
    skipped = [place for place, one in enumerate(found["predictions"]) if one["skipped"]]
    assert set(skipped) == set(range(len(log_probs))) - set(chosen)
    blanks = [-log_probs[place][blank] for place in range(len(log_probs))]
    assert [one["blank_cost"] for one in found["predictions"]] == pytest.approx(blanks, rel=1e-5)
    assert found["total"] == pytest.approx(sum(paid) + sum(blanks[place] for place in skipped), rel=1e-5)


@pytest.mark.parametrize("column", ["paper", "strict"])
@pytest.mark.parametrize("delta", [1.0, 2.5])
def test_an_alignment_of_given_probabilities_is_that_of_algorithm_1(tmp_path, column, delta) -> None:
    totals = set()
    for seed in range(6):
        given = made_up(seed)
        (tmp_path / "given.json").write_text(json.dumps(given))
        flags = ["--skip-target-penalty", str(delta), "--first-column", column]
        found = written(tmp_path, "--probabilities", str(tmp_path / "given.json"), *flags)
        log_probs = [[math.log(one) for one in row] for row in given["probabilities"]]
        ids = [WORDS.index(word) for word in given["targets"]]
        assert found["total"] == pytest.approx(algorithm_1(log_probs, ids, BLANK, delta, column), rel=1e-6)
        assert (found["targets"], found["skip_target_penalty"]) == (given["targets"], delta)
        check_path(found, log_probs, ids, BLANK, delta)
        totals.add(found["total"])
    assert len(totals) == 6


def predicted(run: Path, source: str, target: str) -> tuple[list[list[float]], list[int], Translator]:
    """Log-probabilities on a blank page of half the reference's length, by a plain pass of the model."""
    translator = Translator(run, torch.device("cpu"))
    ids = translator.encode_target(translator.target.tokenise(target))
    source_ids = torch.tensor([translator.encode(translator.source.tokenise(source))])
    canvas = blank_page(torch.tensor([math.floor(0.5 * len(ids) + 0.5)]))
    model = translator.model
    with torch.no_grad():
        encoded = model.encode(source_ids, torch.tensor([source_ids.shape[1]]))
        states = model.decode(canvas.ids, canvas.lengths, encoded, causal=False)
        return (states @ model.output_matrix.T).float().log_softmax(-1)[0].tolist(), ids, translator


@pytest.mark.parametrize("column", ["paper", "strict"])
def test_a_model_is_aligned_as_it_was_trained_with_its_own_source_and_target(tmp_path, column) -> None:
    """With half as many predictions as targets, some targets must be skipped."""
    operators = set()
    for seed, source, target in ((1, "the old man buys a car", "der alte Mann"), (5, "a woman", "das Auto die Frau")):
        run = tiny.run_folder(tmp_path / f"axe{seed}", "axe", seed=seed)
        config = read_yaml(run / "config.yaml")
        config["objective"] |= {"skip_target_penalty": 1.5, "first_column": column}
        config["objective"] |= {"train_length_multiplier": 0.5, "observe": "none"}
        write_yaml(run / "config.yaml", config)
        found = written(tmp_path, "--model", str(run), "--source", source, "--target", target)
        log_probs, ids, translator = predicted(run, source, target)
        assert found["targets"] == translator.target.vocab.decode(ids)
        assert found["total"] == pytest.approx(algorithm_1(log_probs, ids, BLANK_ID, 1.5, column), rel=1e-5)
        check_path(found, log_probs, ids, BLANK_ID, 1.5)
        first = found["predictions"][0]["top"][0]
        assert first[1] == pytest.approx(max(map(math.exp, log_probs[0])), rel=1e-5)
        operators |= set(found["operators"])
    assert operators == {"align", "skip_target"}, "or the penalty would not matter here"
