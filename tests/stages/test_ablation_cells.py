"""Every cell of the paper's section 4.3 and 5, and of our own tables, read a second time from the records."""

from pathlib import Path
from statistics import fmean, mean, stdev
from typing import Any

import pytest

from axenat.files import write_json, write_yaml
from tests.support.evaluation_cells import less, paper, published, read_csv, same_cells
from tests.support.evaluation_study import (
    ABLATIONS,
    BOUNDS,
    COLUMN,
    GRIDS,
    LABELS,
    LOSERS,
    MULTIPLIERS,
    NAMES,
    OWN,
    RUNS,
    Study,
    chosen,
)
from tests.support.evaluation_texts import axenat
from tests.support.requests import write_request

TABLES = ("training_objectives", "skip_target_penalty", "length_multiplier", "lengths", "confidence")
ABOUT = {name: about for name, *about in RUNS}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(folder=tmp_path_factory.mktemp("study"), seed=2)


@pytest.fixture(scope="module")
def tables(study: Study) -> Path:
    return study.write_tables(*TABLES)


def is_beside(corpus: str, side: str) -> bool:
    """Tables 5 to 9 are of distilled data; beside another corpus they stand for orientation."""
    return side == "distilled" or corpus not in OWN


OBJECTIVES = {
    ("none", "all"): ("unobserved", "all tokens"),
    ("some", "all"): ("partially observed", "all tokens"),
    ("some", "hidden"): ("partially observed", "only masks"),
}


def test_training_objectives(study: Study, tables: Path) -> None:
    """On north's distilled side at the delta of the ablations alone; where there are none, all AXE runs."""
    expected = []
    for run, (objective, corpus, side, delta, more) in ABOUT.items():
        if objective == "axe" and run != "north-axe-distilled-d2":
            tuned = study.tuned[run]
            (bleu,) = (each["bleu"] for each in tuned["candidates"] if each["value"] == tuned["value"])
            kind = more.get("observe", "some"), more.get("score", "hidden")
            shown = is_beside(corpus, side)
            value = published("training_objectives", corpus, observe=kind[0], score=kind[1]) if shown else None
            row = {"corpus": corpus, "target_side": side, "skip_target_penalty": delta, "run": run, "bleu": bleu}
            row |= dict(zip(("observe", "score"), OBJECTIVES[kind], strict=True))
            row |= {"length_multiplier": tuned["value"], "published": value}
            expected.append(row | {"published_difference": less(bleu, corpus, value)})
    same_cells(read_csv(tables / "training_objectives.csv"), expected, "run")


def test_skip_target_penalty(study: Study, tables: Path) -> None:
    """A grid over another key is not in it."""
    expected = []
    for group in GRIDS:
        for candidate in study.choices[group]["candidates"]:
            run, delta = candidate["run"], candidate["value"]
            _, corpus, side, *_ = ABOUT[run]
            bleu = rate = None
            if is_beside(corpus, side):
                bleu = published("skip_target_penalty", corpus, value=delta)
                percent = published("skip_target_penalty", corpus, "skip_target_percent", value=delta)
                rate = None if percent is None else percent / 100
            row = {"grid": group, "run": run, "skip_target_penalty": delta}
            row |= {key: candidate[key] for key in ("bleu", "length_multiplier", "skip_target_rate")}
            row |= {"skip_prediction_rate": study.tuned[run]["skip_prediction_rate"], "chosen": run not in LOSERS}
            row |= {"published": bleu, "published_difference": less(candidate["bleu"], corpus, bleu)}
            difference = less(candidate["skip_target_rate"], corpus, rate)
            expected.append(row | {"skip_target_published": rate, "skip_target_published_difference": difference})
    same_cells(read_csv(tables / "skip_target_penalty.csv"), expected, "run")


def test_length_multiplier(study: Study, tables: Path) -> None:
    rows = {row["value"]: row["bleu"] for row in paper()["length_multiplier"]}
    values = sorted({*rows, *MULTIPLIERS})
    empty: dict[str, Any] = {f"bleu_{value:g}": None for value in values}
    expected = []
    tried = {run: {one["value"]: one["bleu"] for one in study.tuned[run]["candidates"]} for run in NAMES}
    for run, (objective, *_) in ABOUT.items():
        if objective != "left_to_right" and run not in ABLATIONS:
            cells = {f"bleu_{value:g}": bleu for value, bleu in tried[run].items()}
            expected.append(empty | cells | {"run": run, "best": study.tuned[run]["value"]})
    # Equal values of Table 7 go to the smallest multiplier, as the paper's bold ones do.
    for corpus, title, best in (("north", "WMT'14 DE-EN", 1.06), ("demo", "WMT'14 EN-DE", 1.04)):
        cells = {f"bleu_{value:g}": bleu[COLUMN[corpus]] for value, bleu in rows.items()}
        expected.append(empty | cells | {"run": f"published, {title}", "best": best})
    ours = "north-axe-distilled-d5"
    cells = {f"bleu_{value:g}": tried[ours][value] - rows[value][COLUMN["north"]] for value in MULTIPLIERS}
    expected.append(empty | cells | {"run": f"{ours} less published", "best": None})
    same_cells(read_csv(tables / "length_multiplier.csv"), expected, "run")


PLACES = (*((corpus, side) for corpus in ("north", "demo") for side in ("raw", "distilled")), ("east", "distilled"))


def test_lengths(study: Study, tables: Path) -> None:
    expected = []
    for corpus, side in PLACES:
        trio: dict[str, str] = {"teacher": f"{corpus}-teacher"}
        trio |= {key: chosen(name, corpus, side)[0] for key, name in (("ce", "masked"), ("axe", "axe"))}
        buckets = {key: study.analyses[run, "test"]["buckets"] for key, run in trio.items()}
        for place, (low, high) in enumerate(BOUNDS):
            row: dict[str, Any] = {"corpus": corpus, "target_side": side, "low": low, "high": high}
            row["num_sentences"] = buckets["ce"][place]["num_sentences"]
            for key, run in trio.items():
                row |= {f"{key}_run": run, f"{key}_bleu": buckets[key][place]["bleu"]}
            for key in ("ce", "axe"):
                of_paper = corpus in OWN and side == "distilled"
                value = published("lengths", corpus, key, low=low) if of_paper else None
                row[f"{key}_published"] = value
                row[f"{key}_published_difference"] = less(row[f"{key}_bleu"], corpus, value)
            expected.append(row)
    for low, high in BOUNDS:
        row = {"corpus": "WMT'14 EN-DE", "target_side": "distilled", "low": low, "high": high, "num_sentences": None}
        row |= {f"{key}_{part}": None for key in ("ce", "axe", "teacher") for part in ("run", "bleu")}
        for key in ("ce", "axe"):
            value = published("lengths", "demo", key, low=low)
            row |= {f"{key}_published": value, f"{key}_published_difference": None}
        expected.append(row)
    same_cells(read_csv(tables / "lengths.csv"), expected, "corpus", "target_side", "low")


def test_confidence(study: Study, tables: Path) -> None:
    """The share of the peak is of the mean of both neighbours; what the paper states is of CE and long sentences."""
    expected = []
    for run in [*chosen("masked"), *chosen("axe")]:
        objective, corpus, side, *_ = ABOUT[run]
        for size, curve in study.analyses[run, "test"]["confidence"].items():
            at = {offset: curve["probability"][place] for place, offset in enumerate(range(-5, 6))}
            stated = (objective, size) == ("masked", "long") and is_beside(corpus, side)
            row = {"corpus": corpus, "target_side": side, "size": size, "model": LABELS[objective], "run": run}
            row |= {"num_sentences": curve["num_sentences"]} | {f"at_{offset}": at[offset] for offset in range(-3, 4)}
            row |= {"neighbour_to_peak": fmean((at[-1], at[1])) / at[0]}
            row |= {"published": 0.14 if stated else None, "published_to_peak": 0.33 if stated else None}
            expected.append(row)
    same_cells(read_csv(tables / "confidence.csv"), expected, "run", "size")


AVERAGED = ("bleu", "repetition", "repetition_words", "valid_share", "length_ratio")


def test_seeds(study: Study, tmp_path: Path) -> None:
    """Each decoding is averaged by itself; a run that stands alone is in no row."""
    flags: dict[str, list[Path]] = {"ell5": [], "ell1": []}
    repeats: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for place, like in enumerate(("demo-ce-raw", "demo-axe-distilled")):
        for decode, paths in flags.items():
            for seed in (1, 2, 3):
                numbers = {key: study.number() for key in AVERAGED}
                about = {"run": f"g{place}-seed{seed}", "seed": seed}
                score = study.scores[like, decode] | numbers | about
                repeats.setdefault((f"g{place}", decode), []).append(score)
                paths.append(tmp_path / f"{score['run']}-{decode}.json")
                write_json(paths[-1], score)
    alone = study.folder / "runs/demo-ce-raw/test/ell5.score.json"
    scores = {"scores": [*flags["ell5"], alone], "further": flags["ell1"]}
    request = write_request(tmp_path / "request.yaml", study="toy", names=["seeds"], **scores)
    axenat("tables", "--request", request, "--out", tmp_path)
    expected = []
    for (group, decode), scores in repeats.items():
        first = scores[0]
        row = {"group": group, "decode": decode, "num_seeds": 3, "model": LABELS[first["objective"]]}
        row |= {key: first[key] for key in ("target_side", "skip_target_penalty")}
        row |= {"runs": " ".join(f"{group}-seed{seed}" for seed in (1, 2, 3))}
        for key in AVERAGED:
            values = [score[key] for score in scores]
            row |= {f"{key}_mean": mean(values), f"{key}_sd": stdev(values)}
        expected.append(row)
    same_cells(read_csv(tmp_path / "seeds.csv"), expected, "group", "decode")


def test_corpora(tmp_path: Path) -> None:
    """Files belong to a corpus by their folders, in whatever order they are given."""
    found: dict[str, list[Path]] = {"origins": [], "raw": [], "counts": []}
    expected, numbers = [], iter(range(1000, 9999, 7))
    for corpus in ("north", "demo"):
        said = {"title": corpus, "expected": {"raw": next(numbers), "clean": next(numbers), "source": "s"}}
        parts = {split: {"set": {"pairs": next(numbers)}} for split in ("train", "valid", "test")}
        found["origins"].append(tmp_path / "data" / corpus / "origin.yaml")
        write_yaml(found["origins"][-1], said | {"parts": parts})
        for split in parts:
            found["raw"].append(tmp_path / "data" / corpus / f"{split}.json")
            write_json(found["raw"][-1], {"split": split, "parts": {"set": {"pairs": next(numbers)}}})
            dropped = {reason: next(numbers) for reason in ("empty", "too_long", "ratio")}
            counts = {"split": split, "pairs": next(numbers), "kept": next(numbers), "dropped": dropped}
            found["counts"].append(tmp_path / "corpora" / corpus / split / "counts.json")
            write_json(found["counts"][-1], counts)
            train = split == "train"
            row = {"corpus": corpus, **{key: counts[key] for key in ("split", "pairs", "kept")}}
            row |= {f"dropped_{reason}": count for reason, count in dropped.items()}
            row["expected_pairs"] = said["expected"]["raw"] if train else parts[split]["set"]["pairs"]
            expected.append(row | {"expected_kept": said["expected"]["clean"] if train else None})
    backwards = {kind: paths[::-1] for kind, paths in found.items()}
    request = write_request(tmp_path / "request.yaml", study="toy", names=["corpora"], **backwards)
    axenat("tables", "--request", request, "--out", tmp_path)
    same_cells(read_csv(tmp_path / "corpora.csv"), expected, "corpus", "split")
