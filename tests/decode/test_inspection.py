"""What is said of a model's predictions is what one sentence at a time and plain loops say."""

import math
import random
from decimal import ROUND_HALF_UP, Decimal

import pytest
import torch

from axenat.data.vocab import BLANK, EOS, MASK, PAD
from axenat.decode.inspect import describe_alignment, generated_probabilities, skip_rates
from axenat.decode.translator import Translator
from axenat.files import write_json
from tests import tiny
from tests.reference.axe import smoothed_inside, table_of_algorithm_1
from tests.reference.best_path import ALIGN, SKIP_PREDICTION, SKIP_TARGET, best_path
from tests.reference.mask_predict import lengths_slowly
from tests.support import decoding

CPU = torch.device("cpu")
TRAININGS = [
    {"skip_target_penalty": 5.0},
    {"skip_target_penalty": 1.25, "first_column": "strict", "eos": "drop"},
    {"skip_target_penalty": 1.5, "smoothing": "inside", "label_smoothing": 0.3},
    {"skip_target_penalty": 5.0, "observe": "none", "train_length_multiplier": 0.7},
    {"skip_target_penalty": 2.0, "observe": "none", "train_length_multiplier": 1.3, "smoothing": "outside"},
]
WORDS = tiny.LINE.split()
rng = random.Random(5)
# More of them than are read at once.
PAIRS = [[" ".join(rng.choices(half, k=rng.randint(0, 5))) for half in (WORDS[:11], WORDS[11:])] for _ in range(70)]


def run_trained_with(folder, **options) -> Translator:
    run = tiny.run_folder(folder, "axe", shape={"init_std": 0.8, "max_positions": 40}, seed=3)
    decoding.favour(run, {BLANK: 8.0})
    return Translator(decoding.set_objective(run, **options), CPU, engine="torch")


@torch.inference_mode()
def blank_page(run: Translator, source: list[int], length: int) -> torch.Tensor:
    """Logits (m V) of one sentence, without padding."""
    encoded = run.model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    states = run.model.decode(torch.full((1, length), MASK), torch.tensor([length]), encoded, causal=False)
    return states[0] @ run.model.output_matrix.T


def aligned_slowly(run: Translator, source: str, target: str, options):
    """Costs, targets and best path of a pair."""
    targets = [*run.target.encode(target), EOS]
    if options.get("eos") == "drop" and len(targets) > 1:
        targets.pop()
    exact = Decimal(len(targets)) * Decimal(str(options.get("train_length_multiplier", 1)))
    length = max(1, int(exact.to_integral_value(ROUND_HALF_UP)))
    log_probs = blank_page(run, [*run.source.encode(source), EOS], length).double().log_softmax(-1).tolist()
    if options.get("smoothing") == "inside":
        log_probs = smoothed_inside(log_probs, options["label_smoothing"])
    how = (BLANK, options["skip_target_penalty"], options.get("first_column", "paper"))
    return log_probs, targets, how, best_path(log_probs, targets, *how)


@pytest.mark.parametrize("options", TRAININGS)
def test_skip_rates_count_the_operators_of_the_best_paths(tmp_path, options) -> None:
    """With the run's own penalty, first column, smoothing, <eos> and number of predictions."""
    run = run_trained_with(tmp_path / "axe", **options)
    num_targets = num_predictions = 0
    operators: list[str] = []
    for pair in PAIRS:
        log_probs, targets, _, path = aligned_slowly(run, *pair, options)
        num_targets, num_predictions = num_targets + len(targets), num_predictions + len(log_probs)
        operators += [operator for operator, _, _ in path]
    found = skip_rates(run, *map(list, zip(*PAIRS, strict=True)))
    assert found == {
        "skip_target_rate": operators.count(SKIP_TARGET) / num_targets,
        "skip_prediction_rate": operators.count(SKIP_PREDICTION) / num_predictions,
    }
    assert 0 < found["skip_target_rate"] < 1
    # Where there are as many predictions as targets, as many of both are skipped.
    assert (len(set(found.values())) == 2) == ("train_length_multiplier" in options)


def test_a_higher_penalty_skips_fewer_targets(tmp_path) -> None:
    rates = []
    for delta in (1.0, 2.0, 5.0):
        run = run_trained_with(tmp_path / "axe", skip_target_penalty=delta)
        rates.append(skip_rates(run, *map(list, zip(*PAIRS, strict=True)))["skip_target_rate"])
    assert rates[0] > rates[1] > rates[2]


@pytest.mark.parametrize("options", TRAININGS)
def test_an_alignment_is_described_target_by_target_and_prediction_by_prediction(tmp_path, options) -> None:
    run = run_trained_with(tmp_path / "axe", **options)
    for pair in PAIRS[:12]:
        log_probs, targets, how, path = aligned_slowly(run, *pair, options)
        said = describe_alignment(run, *pair)
        steps = [(operator, j - 1) for operator, _, j in path if operator != SKIP_PREDICTION]
        assert said["targets"] == [run.target.vocab.tokens[token] for token in targets]
        assert list(zip(said["operators"], said["prediction_of_target"], strict=True)) == steps
        weights = {ALIGN: 1.0, SKIP_TARGET: options["skip_target_penalty"]}
        costs = [-weights[name] * log_probs[j][token] for (name, j), token in zip(steps, targets, strict=True)]
        assert said["target_costs"] == pytest.approx(costs, rel=1e-4)
        skipped = [j - 1 for operator, _, j in path if operator == SKIP_PREDICTION]
        assert [j for j, one in enumerate(said["predictions"]) if one["skipped"]] == skipped
        blanks = [-row[BLANK] for row in log_probs]
        assert [one["blank_cost"] for one in said["predictions"]] == pytest.approx(blanks, rel=1e-4)
        assert said["total"] == pytest.approx(table_of_algorithm_1(log_probs, targets, *how)[-1][-1], rel=1e-4)
        assert said["skip_target_penalty"] == options["skip_target_penalty"]


def test_an_alignment_shows_the_likeliest_words_of_each_prediction(tmp_path) -> None:
    run = run_trained_with(tmp_path / "axe", skip_target_penalty=5.0)
    said = describe_alignment(run, *PAIRS[0])
    probabilities = blank_page(run, run.encode(PAIRS[0][0]), len(said["targets"])).softmax(-1).tolist()
    for row, one in zip(probabilities, said["predictions"], strict=True):
        likeliest = sorted(range(len(row)), key=lambda token: -row[token])[:5]
        assert [word for word, _ in one["top"]] == [run.target.vocab.tokens[token] for token in likeliest]
        assert [p for _, p in one["top"]] == pytest.approx([row[token] for token in likeliest], rel=1e-4)


@pytest.mark.parametrize(("eos", "multiplier"), [("keep", 1.0), ("keep", 1.5), ("drop", 0.5)])
def test_row_k_holds_the_probability_of_the_token_generated_at_k_at_every_position(tmp_path, eos, multiplier) -> None:
    """Figure 3, by two loops. Rows of blanks and of <eos> are empty, and what is banned is never generated."""
    folder = tiny.run_folder(tmp_path / "axe", "axe", shape={"init_std": 0.6}, seed=6)
    decoding.favour(decoding.set_objective(folder, eos=eos), dict.fromkeys((PAD, MASK, BLANK, EOS), 8.0))
    write_json(folder / "tuned.json", {"value": multiplier})
    run = Translator(folder, CPU, engine="torch")
    full, empty, asymmetric, banned = 0, 0, False, False
    for line in ("the old man buys a red car today .", "a car", "the woman sees the old man", "red woman"):
        source = run.encode(line)
        (length,) = lengths_slowly(run.model, source, 1, multiplier, 1 if eos == "drop" else 2)
        p = blank_page(run, source, length).softmax(-1).tolist()
        rows = generated_probabilities(run, line)
        assert rows.shape == (length, length)
        likeliest = [sorted(range(len(row)), key=lambda token, row=row: -row[token]) for row in p]
        tokens = [next(token for token in ranked if token not in decoding.BANNED["axe"]) for ranked in likeliest]
        banned |= tokens != [ranked[0] for ranked in likeliest]
        for k, token in enumerate(tokens):
            if token in (BLANK, EOS):
                empty += 1
                assert all(math.isnan(value) for value in rows[k])
            else:
                full += 1
                assert rows[k].tolist() == pytest.approx([p[j][token] for j in range(length)], rel=1e-4)
                asymmetric |= any(p[j][token] > 2 * p[k][tokens[j]] for j in range(length))
    assert full and empty and asymmetric and banned
