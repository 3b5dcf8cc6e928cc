"""What the stages of a run tell MLflow: tuning and scores in runs of their own, the end result beside the curves."""

import json
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axenat.decodings import is_decoding, sizes_in
from axenat.files import UserError, read_mapping, read_record, write_text
from axenat.layout import is_of_another_training, outputs_in
from axenat.notes import is_of_what_is_there
from axenat.publishing.looks import learning_curve, samples, tail
from axenat.publishing.run_files import config_of, fingerprint, flat, is_finished, numbers_in, scores_in
from axenat.publishing.training import check_history, close_training, send_training, tags_of
from axenat.tracking import FILES, Point, StoredRun, Tracker

COMPLETE, COLOUR = "axenat.complete", "mlflow.runColor"
# What a run's own line shows of its main decoding; the runs of its scores have the rest.
FINAL = ("bleu", "bleu_low", "bleu_high", "repetition", "valid_share", "length_ratio")
# Numbers of a score that were given to it: parameters, not results.
GIVEN = ("skip_target_penalty", "length_multiplier", "length_penalty", "seed", "num_bootstrap", "bootstrap_seed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """One stage of a run, as its files tell it."""

    stage: str
    made_from: tuple[Path, ...]
    values: list[tuple[str, float, int]]
    params: dict[str, Any]
    tags: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)


def publish_run(
    tracker: Tracker, folder: Path, belongs: dict[str, Any], data_version: str | None, further: Sequence[Path] = (),
    colour: str | None = None,
) -> dict[str, float]:  # fmt: skip
    """All that a run's folder holds; returns its final scores. `further` are score files of any run's folder."""
    check_history(folder)
    config = config_of(folder)
    own = _present(folder, outputs_in(folder, "score.json"))
    also = _present(folder, [path for path in further if folder.resolve() in path.resolve().parents and path.exists()])
    scores = [_score(folder, config, *found) for found in scores_in([*own, *also])]
    told = [*(_tuning(folder, path) for path in _present(folder, folder.glob("tuned.json"))), *scores]
    run = send_training(tracker, folder, belongs)
    tracker.log(run, tags={COLOUR: run.tags.get(COLOUR, colour)})  # one that somebody chose in the window stays
    if data_version:
        _add_data(tracker, run, config["corpus"], data_version)
    for each in told:
        _send(tracker, folder, each, {**belongs, "mlflow.parentRunId": run.id}, data_version)
    tracker.remove_unless(folder, lambda stage, mark: _is_true(folder, stage, mark))
    final = _final(told[: len(told) - len(also)])
    send_final(tracker, run, final)
    _send_files(tracker, run, folder, config, own)
    close_training(tracker, folder, run)
    return final


def _present(folder: Path, paths: Iterable[Path]) -> list[Path]:
    """Of the model that is there: what an earlier one was tuned to and scored must not stand beside a new training."""
    return [path for path in paths if _is_present(folder, path)]


def _is_present(folder: Path, path: Path) -> bool:
    return is_finished(folder) and is_of_what_is_there(path, folder)


def _tuning(folder: Path, path: Path) -> Told:
    tuned = read_record(path, "key", "value", "candidates")
    try:  # MLflow steps are whole numbers: the grid value is counted in thousandths
        values = [("valid/bleu", float(one["bleu"]), round(1000 * one["value"])) for one in tuned["candidates"]]
    except (LookupError, TypeError, ValueError):
        values = []
    if not values:
        raise UserError(f"{path}: candidates must be there, with a value and a bleu each; tune the run again")
    return Told(
        stage="tune",
        made_from=_made_from(folder, "tune"),
        values=values,
        params=flat({**_decoding(folder), tuned["key"]: tuned["value"]}),
        files={"tuned.json": path, "decode.yaml": folder / "decode.yaml"},
    )


def _score(folder: Path, config: dict[str, Any], path: Path, score: dict[str, Any]) -> Told:
    split, text = score["split"], path.with_name(path.name.replace(".score.json", ".txt"))
    stage = f"score/{split}/{score['decode']}"
    sizes = sizes_in(score["decode"]) if is_decoding(score["decode"]) else {}
    tuned = {key: score[key] for key in ("length_multiplier", "length_penalty") if score.get(key) is not None}
    return Told(
        stage=stage,
        made_from=_made_from(folder, stage),
        values=[(f"{split}/{key}", value, 0) for key, value in numbers_in(score).items() if key not in GIVEN],
        params=flat({**_decoding(folder), **sizes, **tuned}),
        tags={"signature": score["signature"], "engine": score.get("engine"), "decode": score["decode"]},
        files={path.name: path, text.name: text},
    )


def _made_from(folder: Path, stage: str) -> tuple[Path, ...]:
    """The file that a stage wrote, and what it depends on beside the configuration."""
    decode, tuned = folder / "decode.yaml", folder / "tuned.json"
    if stage == "tune":
        return tuned, decode
    return folder / f"{stage.removeprefix('score/')}.score.json", decode, tuned


def _is_true(folder: Path, stage: str, mark: str) -> bool:
    """Not of a score of an earlier decoding or model; stages that are none of ours are others' to judge."""
    if stage != "tune" and not stage.startswith("score/"):
        return True
    files = _made_from(folder, stage)
    return files[0].exists() and _is_present(folder, files[0]) and fingerprint(folder, *files) == mark


def _decoding(folder: Path) -> dict[str, Any]:
    """Single values of decode.yaml; what was tuned is a grid there, and told apart."""
    path = folder / "decode.yaml"
    values = read_mapping(path) if path.exists() else {}
    return {key: value for key, value in values.items() if isinstance(value, str | int | float) and key != "run"}


def _send(tracker: Tracker, folder: Path, told: Told, belongs: dict[str, Any], data_version: str | None) -> None:
    """Whole or again: a run that was broken off while it was sent lacks the tag that says it is complete."""
    config = config_of(folder)
    mark = fingerprint(folder, *told.made_from)
    run = tracker.run(folder, told.stage, f"{config['run']}/{told.stage}", mark)
    if run.tags.get(COMPLETE):
        tracker.log(run, tags=belongs)  # the parent may be another
        return
    points = [Point(key, value, step, run.started) for key, value, step in told.values]
    tracker.log(run, points=points, params={**flat(config), **told.params})
    tracker.send_files(run, told.files)
    tracker.end(run, ended=run.started)
    tags = {**tags_of(folder, told.stage), **told.tags, "data_version": data_version}
    tracker.log(run, tags={**tags, **belongs, COMPLETE: "yes"})


def _final(told: Sequence[Told]) -> dict[str, float]:
    """The tuned value, the best score on valid, and the scores of the run's own decoding."""
    found: dict[str, float] = {}
    for each in told:
        if each.stage == "tune":
            found["valid/bleu"] = max(value for _, value, _ in each.values)
            tuned = {key: each.params[key] for key in ("lambda", "length_penalty") if key in each.params}
            found |= {f"tuned/{key}": float(value) for key, value in tuned.items()}
        else:
            found |= {key: value for key, value, _ in each.values if key.split("/")[1] in FINAL}
    return found


def send_final(tracker: Tracker, run: StoredRun, final: dict[str, float]) -> None:
    """Numbers that are other than those sent before; of several, MLflow shows the newest."""
    had = run.record("axenat.final")
    now = round(1000 * time.time())
    points = [Point(key, value, 0, now) for key, value in final.items() if had.get(key) != value]
    if points:
        tracker.log(run, points=points, tags={"axenat.final": json.dumps(had | final)})


def _add_data(tracker: Tracker, run: StoredRun, corpus: str, version: str) -> None:
    """Once: data that came later did not make this run."""
    if "data_version" not in run.tags:
        tracker.add_data(run, corpus, version)
        tracker.log(run, tags={"data_version": version})


def _send_files(tracker: Tracker, run: StoredRun, folder: Path, config: dict[str, Any], scores: list[Path]) -> None:
    """The folder's own, and small ones made for a look."""
    files = {name: folder / name for name in ("config.yaml", "decode.yaml", "history.jsonl", "best.json")}
    if _is_present(folder, folder / "tuned.json"):
        files["tuned.json"] = folder / "tuned.json"
    if not is_of_another_training(folder):
        files["provenance.json"] = folder / "provenance.json"
    base = folder.parent.parent.parent  # the folder that Snakemake works in
    with tempfile.TemporaryDirectory() as made:
        for path in scores:
            split, text = path.parent.name, path.with_name(path.name.replace(".score.json", ".txt"))
            files[f"scores/{split}-{path.name}"] = _as(Path(made) / f"{split}-{path.name}", path.read_text("utf-8"))
            if text.exists():
                name = f"{split}-samples.txt"
                files[f"samples/{name}"] = _as(Path(made) / name, samples(text, base / "data", config, split))
        if "plots/training.svg" not in run.record(FILES) and is_finished(folder):
            picture = learning_curve(folder / "history.jsonl", config)
            files["plots/training.svg"] = _as(Path(made) / "training.svg", picture)
        log = base / "logs" / "train" / f"{config['run']}.log"
        if log.exists():
            files["log-tail.txt"] = _as(Path(made) / "log-tail.txt", tail(log))
        tracker.send_files(run, files)


def _as(path: Path, text: str) -> Path:
    write_text(path, text)
    return path
