"""A small study made up in memory: a teacher, cross entropy and AXE on two target sides, a grid of delta."""

from typing import Any

import pytest

from axenat.catalogue import FIGURE_NAMES
from axenat.evaluate.drawing import Drawing
from axenat.evaluate.study_figures import draw
from axenat.evaluate.study_record import CorpusRecord, RunRecord, StudyRecord

SIDES = {"raw": (60.0, 70.0), "distilled": (80.0, 82.0)}
TOKENS = ["es", "schmeckt", "ziemlich", "gut", "."]


def _score(run: str, objective: str, side: str, bleu: float, delta: float | None, chosen: bool) -> dict[str, Any]:
    return {
        "run": run,
        "corpus": "demo",
        "objective": objective,
        "target_side": side,
        "split": "test",
        "decode": "beam5" if objective == "left_to_right" else "ell5",
        "bleu": bleu,
        "bleu_low": bleu - 1.2,
        "bleu_high": bleu + 1.3,
        "signature": "nrefs:8|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
        "repetition": {"left_to_right": 0.0, "masked": 0.081, "axe": 0.012}[objective],
        "repetition_words": 0.02,
        "valid_share": bleu / 120,
        "num_sentences": 500,
        "num_references": 8,
        "length_ratio": 0.99,
        "skip_target_penalty": delta,
        "length_multiplier": None if objective == "left_to_right" else 1.1,
        "engine": "torch",
        "precision": "float32",
        "chosen": chosen,
        "seed": 7,
        "conventions": _conventions(bleu),
    }


def _conventions(bleu: float) -> dict[str, Any]:
    made = {
        "sacrebleu": ("sacreBLEU", bleu, "tok:13a|smooth:exp"),
        "tokenised": ("tokenised BLEU", bleu + 1, "tok:none"),
    }
    return {
        name: {
            "label": label,
            "value": value,
            "low": value - 1.2,
            "high": value + 1.3,
            "signature": f"nrefs:8|case:mixed|eff:no|{how}|version:2.6.0",
            "compared": f"text of {label}",
        }
        for name, (label, value, how) in made.items()
    }


def _history(start: float) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for step in range(50, 2001, 50):
        loss = start / (1 + step / 300) + 0.4 + 0.05 * (step % 3)
        records.append({"kind": "train", "step": step, "epoch": step // 400, "loss": loss, "lr": 5e-4})
        if step % 400 == 0:
            records.append({"kind": "valid", "step": step, "epoch": step // 400, "loss": loss + 0.1})
    return records


def _confidence(neighbour: float) -> dict[str, Any]:
    offsets = list(range(-5, 6))
    curve = [0.9 if offset == 0 else neighbour / abs(offset) for offset in offsets]
    return {
        size: {"offsets": offsets, "probability": curve, "num_sentences": count}
        for size, count in (("short", 40), ("long", 25))
    }


def _alignment() -> dict[str, Any]:
    tops = [
        ["aber", "doch", "<blank>", "und", "denn"],
        ["es", "<blank>", "das", "dies", "sie"],
        ["schmeckt", "macht", "sieht", "geschmack@@", "fühlt"],
        ["lecker", "gut", "fein", "köstlich", "prima"],
        [".", "<blank>", "!", "so", ","],
    ]
    probabilities = [0.5, 0.25, 0.12, 0.06, 0.03]
    return {
        "source": "it tastes pretty good .",
        "targets": TOKENS,
        "prediction_of_target": [1, 2, 2, 3, 4],
        "operators": ["align", "align", "skip_target", "align", "align"],
        "target_costs": [0.69, 0.69, 7.4, 1.39, 0.7],
        "predictions": [
            {
                "top": list(map(list, zip(top, probabilities, strict=True))),
                "skipped": index == 0,
                "blank_cost": 2.12,
            }
            for index, top in enumerate(tops)
        ],
        "total": 12.99,
        "skip_target_penalty": 2.0,
    }


def _analysis(run: str, objective: str, bleu: float) -> dict[str, Any]:
    bounds = [(1, 10), (10, 20), (20, 30), (30, None)]
    fall = 12 if objective == "masked" else 3
    buckets = [
        {"low": low, "high": high, "num_sentences": 120 - 20 * place, "bleu": bleu + 8 - fall * place}
        for place, (low, high) in enumerate(bounds)
    ]
    words = (
        "Der alte alte Mann kauft heute ein <rotes> Auto."
        if objective == "masked"
        else "Der Mann kauft heute ein Auto."
    )
    return {
        "run": run,
        "split": "test",
        "buckets": buckets,
        "confidence": None if objective == "left_to_right" else _confidence(0.3 if objective == "masked" else 0.06),
        "skip_target_rate": 0.1 if objective == "axe" else None,
        "skip_prediction_rate": 0.08 if objective == "axe" else None,
        "examples": [
            {
                "source": f"{who} buys a <red> car today.",
                "reference": "Der Mann kauft heute ein Auto.",
                "hypothesis": words,
            }
            for who in ("The old man", "The young woman", "The child next door")
        ],
        "alignments": [_alignment(), {**_alignment(), "source": "the other </script> pair"}]
        if objective == "axe"
        else [],
    }


def _run(score: dict[str, Any]) -> RunRecord:
    run, objective = score["run"], score["objective"]
    key = "length_penalty" if objective == "left_to_right" else "length_multiplier"
    values = [1.0, 1.05, 1.1, 1.15, 1.2]
    shift = len(run) % 4
    candidates = [{"value": value, "bleu": score["bleu"] - 90 * (value - 1.1) ** 2 - shift} for value in values]
    settings = {"name": objective, "label_smoothing": 0.1}
    if score["skip_target_penalty"]:
        settings["skip_target_penalty"] = score["skip_target_penalty"]
    return RunRecord(
        name=run,
        config={
            "run": run,
            "corpus": "demo",
            "target_side": score["target_side"],
            "seed": 7,
            "objective": settings,
            "model": {"width": 96, "heads": 8},
            "train": {"steps": 1500 if objective == "left_to_right" else 3500, "peak_lr": 5.0e-4},
        },
        decode={"beam_size": 5, "num_length_candidates": 5, "length_multipliers": values},
        history=_history(6 + shift),
        tuned={
            "run": run,
            "key": key,
            "value": 1.1,
            "rule": "r",
            "split": "valid",
            "signature": score["signature"],
            "candidates": candidates,
            "skip_prediction_rate": 0.08 if objective == "axe" else None,
        },
        provenance={
            "commit": "0123abc",
            "software": {"torch": "2.13.0", "sacrebleu": "2.6.0"},
            "data_version": "md5 77aa",
            "seconds": 60 + shift,
        },
        analyses=[_analysis(run, objective, score["bleu"])],
        chosen=score["chosen"],
    )


def _scores() -> list[dict[str, Any]]:
    made = [_score("teacher", "left_to_right", "raw", 90.0, None, True)]
    for side, (masked, axe) in SIDES.items():
        made.append(_score(f"ce-{side}", "masked", side, masked, None, True))
        for delta in (1, 2, 3):
            bleu = axe - abs(delta - 2)
            made.append(_score(f"axe-{side}-d{delta}", "axe", side, bleu, delta, delta == 2))
    return made


def _decodings() -> list[dict[str, Any]]:
    """Each run's own, the students with one length candidate, a little worse, and one of a run with two seeds."""
    students = [score for score in _scores() if score["objective"] != "left_to_right"]
    lower = [{key: score[key] - 1.5 for key in ("bleu", "bleu_low", "bleu_high")} for score in students]
    further = [{**score, "decode": "ell1", **bleu} for score, bleu in zip(students, lower, strict=True)]
    repeats = [{**_scores()[1], "run": f"again-seed{seed}", "decode": "ell3", "seed": seed} for seed in (1, 2)]
    return [*_scores(), *further, *repeats]


def _comparisons() -> list[dict[str, Any]]:
    result = {"split": "test", "test": "paired bootstrap", "num_samples": 1000}
    return [
        {**result, "a": "axe-raw-d2", "b": "ce-raw", "difference": 10.0, "p_value": 0.001},
        {**result, "a": "axe-distilled-d2", "b": "ce-distilled", "difference": -0.3, "p_value": 0.31},
    ]


def _choice(side: str, axe: float) -> dict[str, Any]:
    candidates = [
        {
            "run": f"axe-{side}-d{delta}",
            "value": delta,
            "bleu": axe - abs(delta - 2),
            "length_multiplier": 1.1,
            "skip_target_rate": 0.18 / delta,
        }
        for delta in (1, 2, 3)
    ]
    rule = "highest BLEU on valid; ties go to the smallest value"
    choice = {"group": f"axe-{side}", "key": "skip_target_penalty", "chosen": f"axe-{side}-d2", "rule": rule}
    return {**choice, "candidates": candidates}


def _speed() -> dict[str, Any]:
    """A step of AXE takes a quarter more than one of CE; the teacher decodes a tenth as fast as a student."""
    trained = [
        {key: score[key] for key in ("run", "corpus", "objective", "target_side")}
        | {
            "model": {"width": 8},
            "tokens_per_step": 512,
            "steps": 9,
            "tokens_per_second": 1000.0,
            "total_seconds": 60.0,
        }
        | {"step_milliseconds": 50.0 if score["objective"] == "axe" else 40.0}
        for score in _scores()
    ]
    decoded = [
        {"run": run, "corpus": "demo", "objective": objective, "decode": decode, "engine": "torch"}
        | {"precision": "float32", "num_sentences": 30}
        | {"sentences_per_second": speed, "latency_milliseconds": 1000 / speed}
        for run, objective, decode, speed in (
            ("teacher", "left_to_right", "beam5", 10.0),
            ("ce-distilled", "masked", "ell5", 100.0),
            ("axe-distilled-d1", "axe", "ell5", 100.0),
        )
    ]
    return {"machine": {"threads": 1, "device": "cpu"}, "rounds": 3, "training": trained, "decoding": decoded}


CORPUS = CorpusRecord(
    name="demo",
    origin={
        "title": "two parts",
        "expected": {"raw": 1010, "clean": 990, "source": "somebody"},
        "parts": {"train": {"one": {"pairs": None}, "two": {"pairs": 410}}, "valid": {"valid": {"pairs": 30}}},
    },
    raw=[
        {
            "split": "train",
            "parts": {"one": {"pairs": 600, "undecodable": 2}, "two": {"pairs": 400, "incomplete": 1234}},
        },
        {"split": "valid", "parts": {"valid": {"pairs": 30, "undecodable": 0}}},
    ],
    counts=[
        {"split": "train", "pairs": 1000, "kept": 988, "dropped": {"empty": 5, "too_long": 7}},
        {"split": "valid", "pairs": 30, "kept": 30, "dropped": {"empty": 0, "too_long": 0}},
    ],
)


@pytest.fixture
def scores() -> list[dict[str, Any]]:
    return _scores()


@pytest.fixture
def decodings() -> list[dict[str, Any]]:
    return _decodings()


@pytest.fixture
def comparisons() -> list[dict[str, Any]]:
    return _comparisons()


@pytest.fixture
def choices() -> list[dict[str, Any]]:
    return [_choice(side, axe) for side, (_, axe) in SIDES.items()]


@pytest.fixture(scope="session")
def study() -> StudyRecord:
    return StudyRecord(
        name="demo",
        note="The corpus is synthetic: a grammar wrote it.",
        scores=_scores(),
        decodings=_decodings(),
        comparisons=_comparisons(),
        runs=[_run(score) for score in _scores()],
        choices=[_choice(side, axe) for side, (_, axe) in SIDES.items()],
        corpora=[CORPUS],
        speed=_speed(),
    )


@pytest.fixture(scope="session")
def drawings(study: StudyRecord) -> dict[str, Drawing]:
    """Drawn once: a figure takes a tenth of a second."""
    return {name: draw(name, study) for name in FIGURE_NAMES}
