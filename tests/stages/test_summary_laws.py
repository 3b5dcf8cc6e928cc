"""`axenat choose` and `axenat summarise`: choices, differences, p-values and spreads, recomputed from the files."""

import csv
import random
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest

from axenat.files import read_json, read_lines, write_json, write_yaml
from tests.support.evaluation_texts import Lazily, Scored, axenat, sacrebleu

CORPORA = ("zh", "ro", "de")
SYSTEMS = {"axe": ("axe", 4), "ce": ("masked", 9)}


def summary_of(folder: Path, scores: list[Path], *more: object) -> dict[str, Any]:
    outputs = ("--out", folder / "summary.json", "--markdown", folder / "r.md", "--csv", folder / "r.csv")
    axenat("summarise", "--study-name", "toy", "--scores", *scores, *outputs, *more)
    found: dict[str, Any] = read_json(folder / "summary.json")
    return found


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Lazily:
    """AXE and cross entropy on corpora of three languages; on Romanian AXE is worse. Each with its comparison."""

    def make(corpus: str) -> tuple[Scored, Scored, dict[str, Any]]:
        folder, texts = tmp_path_factory.mktemp(corpus), []
        for system, (objective, seed) in SYSTEMS.items():
            made = Scored(
                folder=folder,
                language=corpus,
                name=f"{system}-{corpus}",
                config={"corpus": corpus, "objective": {"name": objective}},
                refs=None if system == "axe" else folder,
                seed=13 - seed if corpus == "ro" else seed,
            )
            texts.append(made.write())
            made.score()
        (comparison,) = summary_of(folder, [one.path("score.json") for one in texts])["comparisons"]
        return texts[0], texts[1], comparison

    return Lazily(make)


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_difference_is_that_of_the_two_scores_axe_less_cross_entropy(three, corpus: str) -> None:
    axe, ce, comparison = three[corpus]
    scores = [read_json(one.path("score.json")) for one in (axe, ce)]
    assert comparison["difference"] == pytest.approx(scores[0]["bleu"] - scores[1]["bleu"], abs=1e-9)
    assert (comparison["difference"] < 0) == (corpus == "ro")
    assert (comparison["a"], comparison["b"]) == (axe.name, ce.name)
    assert (comparison["split"], comparison["decode"], comparison["target_side"]) == ("test", "ell3", "distilled")


@pytest.mark.parametrize("corpus", CORPORA)
def test_p_values_are_those_of_the_sacrebleu_command_on_the_written_files(three, corpus: str) -> None:
    axe, ce, comparison = three[corpus]
    words = [*axe.references, "-i", ce.path("txt"), axe.path("txt"), "-m", "bleu"]
    words += ["--tokenize", "zh"] if corpus == "zh" else []
    for test, key, flags in (
        ("bootstrap", "p_value", ("--paired-bs", "--paired-bs-n", comparison["num_samples"])),
        ("randomisation", "p_value_randomisation", ("--paired-ar", "--paired-ar-n", comparison["num_trials"])),
    ):
        _, found = sacrebleu(*words, *flags)
        assert comparison[key] == pytest.approx(found["BLEU"]["p_value"], abs=1e-9), test


def repetitions(path: Path) -> np.ndarray:
    rows = []
    for line in read_lines(path):
        tokens = line.split()
        rows.append((sum(a == b for a, b in pairwise(tokens)), len(tokens)))
    return np.array(rows)


def test_the_p_value_of_repetitions_is_that_of_the_subword_files_swapped_at_random(three) -> None:
    """All swaps at once, with the generator that the test of BLEU has."""
    axe, ce, comparison = three["de"]
    a, b = repetitions(axe.path("bpe.txt")), repetitions(ce.path("bpe.txt"))
    measured = abs(np.divide(*a.sum(0)) - np.divide(*b.sum(0)))
    beyond = 0
    for kept in np.random.default_rng(12345).integers(2, size=(comparison["num_trials"], len(a)), dtype=bool):
        one, other = np.where(kept[:, None], b, a).sum(0), np.where(kept[:, None], a, b).sum(0)
        beyond += abs(one[0] / one[1] - other[0] / other[1]) >= measured - 1e-9
    assert comparison["p_value_repetition"] == pytest.approx((beyond + 1) / (comparison["num_trials"] + 1))
    assert len({comparison[key] for key in ("p_value", "p_value_randomisation", "p_value_repetition")}) == 3


def grid(folder: Path, runs: dict[str, tuple[float, dict[float, float], float]], corpus: str = "de") -> dict[str, Any]:
    """The flags of `choose` for runs, each with its delta, BLEU by lambda, and the lambda that was tuned."""
    flags: dict[str, list[Path]] = {"--tuned": [], "--analysis": [], "--run-configs": []}
    for name, (delta, tried, value) in runs.items():
        candidates = [{"value": multiplier, "bleu": bleu} for multiplier, bleu in tried.items()]
        files = {
            "--tuned": {"run": name, "key": "length_multiplier", "value": value, "candidates": candidates},
            "--analysis": {"run": name, "split": "valid", "skip_target_rate": delta / 40},
        }
        for flag, values in files.items():
            flags[flag].append(folder / f"{name}{flag}.json")
            write_json(flags[flag][-1], values)
        config = {"run": name, "corpus": corpus, "objective": {"name": "axe", "skip_target_penalty": delta}}
        flags["--run-configs"].append(folder / f"{name}.yaml")
        write_yaml(flags["--run-configs"][-1], config)
    # Files pair up by the run that they name, not by their place.
    random.Random(1).shuffle(flags["--tuned"])
    random.Random(2).shuffle(flags["--analysis"])
    return flags


def chosen_of(folder: Path, runs: dict[str, tuple[float, dict[float, float], float]]) -> dict[str, Any]:
    words = [word for flag, paths in grid(folder, runs).items() for word in (flag, *paths)]
    axenat("choose", "--group", "axe-de", "--key", "skip_target_penalty", *words, "--out", folder / "choice.json")
    found: dict[str, Any] = read_json(folder / "choice.json")
    return found


def test_the_run_with_the_highest_bleu_at_its_own_tuned_value_is_chosen(tmp_path: Path) -> None:
    """Not the one with the highest of all, nor at the first or last value, nor the first, last or cheapest run."""
    runs = {
        "d1": (1.0, {1.0: 60.0, 1.05: 61.0, 1.1: 40.0}, 1.05),
        "d5": (5.0, {1.0: 30.0, 1.05: 31.0, 1.1: 62.0}, 1.1),
        "d3": (3.0, {1.0: 64.0, 1.05: 20.0, 1.1: 25.0}, 1.0),
        "d2": (2.0, {1.0: 10.0, 1.05: 70.0, 1.1: 59.0}, 1.1),
    }
    choice = chosen_of(tmp_path, runs)
    assert (choice["group"], choice["key"], choice["chosen"]) == ("axe-de", "skip_target_penalty", "d3")
    assert [each["run"] for each in choice["candidates"]] == list(runs)
    for each in choice["candidates"]:
        delta, tried, value = runs[each["run"]]
        assert (each["value"], each["length_multiplier"], each["bleu"]) == (delta, value, tried[value])
        assert each["skip_target_rate"] == delta / 40


def test_of_equal_runs_the_smallest_value_is_chosen(tmp_path: Path) -> None:
    runs = {name: (float(name[1:]), {1.0: bleu}, 1.0) for name, bleu in {"d10": 7.0, "d9": 7.0, "d2": 6.0}.items()}
    assert chosen_of(tmp_path, runs)["chosen"] == "d9"


def test_a_winner_and_a_run_outside_all_grids_are_marked_and_alone_compared(tmp_path: Path) -> None:
    values = {"d1": (1.0, {1.0: 5.0}, 1.0), "d2": (2.0, {1.0: 9.0}, 1.0), "d3": (3.0, {1.0: 8.0}, 1.0)}
    chosen_of(tmp_path, values)
    texts = {}
    for place, name in enumerate(("ce", *values, "unseen", "ce-raw")):
        objective: dict[str, Any] = {"name": "masked"} if name.startswith("ce") else {"name": "axe"}
        objective |= {"observe": "none"} if name == "unseen" else {}
        texts[name] = Scored(
            folder=tmp_path,
            language="de",
            name=name,
            config={"objective": objective, "target_side": "raw" if name == "ce-raw" else "distilled"},
            seed=place,
            refs=tmp_path if place else None,
        ).write()
        texts[name].score()
    paths = [one.path("score.json") for one in texts.values()]
    summary = summary_of(tmp_path, paths, "--choices", tmp_path / "choice.json")
    marks = {score["run"]: score["chosen"] for score in summary["scores"]}
    assert marks == {"ce": True, "d1": False, "d2": True, "d3": False, "unseen": False, "ce-raw": True}
    assert {each["run"]: each["chosen"] for each in summary["decodings"]} == marks
    assert [(one["a"], one["b"]) for one in summary["comparisons"]] == [("d2", "ce")]


AVERAGED = ("bleu", "repetition", "repetition_words", "valid_share", "length_ratio")


def test_the_spread_over_seeds_is_that_of_each_number_of_their_scores(three, tmp_path: Path) -> None:
    _, ce, _ = three["de"]
    written, rng, paths = read_json(ce.path("score.json")), random.Random(3), []
    made: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for group in ("ce", "axe"):
        for decode in ("ell3", "ell1"):
            for seed in (1, 2, 3):
                numbers = {key: rng.uniform(1, 99) for key in AVERAGED}
                score = written | numbers | {"run": f"{group}-seed{seed}", "seed": seed, "decode": decode}
                made.setdefault((group, decode), []).append(score)
                paths.append(tmp_path / f"{group}-{decode}-{seed}.json")
                write_json(paths[-1], score)
    own, further = ([path for path in paths if decode in path.name] for decode in ("ell3", "ell1"))
    summary = summary_of(tmp_path, own, "--further", *further)
    assert {(one["group"], one["decode"]) for one in summary["seeds"]} == set(made)
    for record in summary["seeds"]:
        repeats = made[record["group"], record["decode"]]
        assert (record["num_seeds"], record["seeds"]) == (3, [1, 2, 3])
        for key in AVERAGED:
            values = [score[key] for score in repeats]
            assert record[f"{key}_mean"] == pytest.approx(mean(values), rel=1e-12)
            assert record[f"{key}_sd"] == pytest.approx(stdev(values), rel=1e-12)


def test_the_table_of_results_holds_each_number_of_each_score_in_its_own_column(three, tmp_path: Path) -> None:
    own = [read_json(one.path("score.json")) for one in three["de"][:2]]
    single = [score | {"decode": "ell1", "bleu": 1.5 * number + 3} for number, score in enumerate(own)]
    own = [score | {"valid_share": (number + 2) / 10} for number, score in enumerate(own)]
    paths = [tmp_path / f"{score['run']}-{score['decode']}.json" for score in (*own, *single)]
    for path, score in zip(paths, (*own, *single), strict=True):
        write_json(path, score)
    summary_of(tmp_path, paths[: len(own)], "--further", *paths[len(own) :])
    rows = {row["run"]: row for row in csv.DictReader((tmp_path / "r.csv").open(encoding="utf-8"))}
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in read_lines(tmp_path / "r.md") if "|" in line]
    printed = {cells[0]: dict(zip(lines[0], cells, strict=True)) for cells in lines if len(cells) == len(lines[0])}
    for score, one in zip(own, single, strict=True):
        row, cells = rows[score["run"]], printed[score["run"]]
        for key in ("bleu", "bleu_low", "bleu_high", "repetition", "repetition_words", "length_ratio", "valid_share"):
            assert float(row[key]) == pytest.approx(score[key], rel=1e-12), key
        assert (float(row["bleu_one_candidate"]), row["decode"]) == (one["bleu"], "ell3")
        assert cells["BLEU"] == f"{score['bleu']:.2f}" and cells["BLEU, ℓ = 1"] == f"{one['bleu']:.2f}"
        assert cells["95 % interval"] == f"[{score['bleu_low']:.2f}, {score['bleu_high']:.2f}]"
        assert cells["repeated %"] == f"{100 * score['repetition']:.2f}"
        assert cells["valid %"] == f"{100 * score['valid_share']:.1f}"
        assert cells["λ"] == "1.07" and cells["chosen"] == "✓"
