"""The window on the files: runs, tunings and scores mirrored to MLflow. The only module that imports mlflow.

Files are the truth. Everything here is sent from them, can be sent again, and may fail without harm.
"""

import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axenat.files import UserError, alone, read_json, read_lines, read_yaml, sha256_of
from axenat.layout import outputs_in

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

log = logging.getLogger(__name__)
EXPERIMENT = "axenat"
FOLLOW_SECONDS = 60.0
METRICS_PER_CALL = 1000  # MLflow's own limit
PARAMS_PER_CALL = 100


def tracking_uri() -> str:
    """The server named in the environment, or the database that plain `mlflow ui` opens here."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path('mlflow.db').resolve()}"


class Tracker:
    """A connection to the store, and the one experiment that all runs are in."""

    def __init__(self, uri: str) -> None:
        # Every wait on a server is bounded: a dead one costs seconds, not the minutes of the defaults.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        with _creating_tables(uri):
            self.client = _client(uri)
            self.experiment_id = _experiment(self.client)

    def run(self, folder: Path, stage: str, name: str, fingerprint: str) -> str:
        """The MLflow run of this folder and stage; what another configuration left under it is removed."""
        where = f"tags.`axenat.folder` = '{folder.resolve()}' and tags.`axenat.stage` = '{stage}'"
        for found in self.client.search_runs([self.experiment_id], where):
            if found.data.tags.get("axenat.fingerprint") == fingerprint:
                return str(found.info.run_id)
            self.client.delete_run(found.info.run_id)
        tags = {
            "axenat.folder": str(folder.resolve()),
            "axenat.stage": stage,
            "axenat.fingerprint": fingerprint,
        }
        created = self.client.create_run(self.experiment_id, tags=tags, run_name=name)
        return str(created.info.run_id)

    def tags(self, run_id: str) -> dict[str, str]:
        return dict(self.client.get_run(run_id).data.tags)

    def log(self, run_id: str, *, metrics: list[tuple[str, float, int]] | None = None,
            params: dict[str, Any] | None = None, tags: dict[str, Any] | None = None) -> None:  # fmt: skip
        from mlflow.entities import Metric, Param, RunTag

        now = int(time.time() * 1000)
        sent = [Metric(key, value, now, step) for key, value, step in metrics or []]
        for start in range(0, len(sent), METRICS_PER_CALL):
            self.client.log_batch(run_id, metrics=sent[start : start + METRICS_PER_CALL])
        named = [Param(key, str(value)) for key, value in (params or {}).items()]
        for start in range(0, len(named), PARAMS_PER_CALL):
            self.client.log_batch(run_id, params=named[start : start + PARAMS_PER_CALL])
        labels = [RunTag(key, str(value)) for key, value in (tags or {}).items() if value is not None]
        self.client.log_batch(run_id, tags=labels)

    def artifacts(self, run_id: str, paths: list[Path]) -> None:
        for path in paths:
            if path.exists():
                self.client.log_artifact(run_id, str(path))


def _client(uri: str) -> "MlflowClient":
    from mlflow.tracking import MlflowClient

    for name in ("alembic", "mlflow.store.db.utils"):  # they narrate the creation of tables
        logging.getLogger(name).setLevel(logging.WARNING)
    return MlflowClient(tracking_uri=uri)


def _experiment(client: "MlflowClient") -> str:
    found = client.get_experiment_by_name(EXPERIMENT)
    return str(found.experiment_id) if found else str(client.create_experiment(EXPERIMENT))


def _creating_tables(uri: str) -> AbstractContextManager[None]:
    """Processes that create the tables of a fresh database at the same time break it."""
    return alone(uri.removeprefix("sqlite:///") + ".lock") if uri.startswith("sqlite:///") else nullcontext()


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys as `train.peak_lr`."""
    result: dict[str, Any] = {}
    for key, value in values.items():
        result |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return result


def publish_training(tracker: Tracker, folder: Path) -> str:
    """The history so far; called again, it sends only the lines that came since.

    When the lines sent earlier are no longer those of the file (other data, another version), all are sent anew.
    """
    config = read_yaml(folder / "config.yaml")
    finished = folder / "history.jsonl"
    lines = read_lines(finished if finished.exists() else folder / "checkpoints" / "history.jsonl")
    place = (folder, "train", f"{config['run']}/train", sha256_of(folder / "config.yaml"))
    run_id = tracker.run(*place)
    tags = tracker.tags(run_id)
    sent = int(tags.get("axenat.history_lines", 0))
    if sent and tags.get("axenat.history_sha256") != _sha256_of_lines(lines[:sent]):
        tracker.client.delete_run(run_id)
        run_id, sent = tracker.run(*place), 0
    history = [json.loads(line) for line in lines[sent:]]
    speed = _speed_after(int(tags.get("axenat.speed_step", 0)) if sent else 0, folder)
    metrics = [
        (f"{line['kind']}.{key}", float(value), int(line["step"]))
        for line in [*history, *speed]
        for key, value in line.items()
        if key not in ("kind", "step") and value is not None
    ]
    tags = {
        "axenat.history_lines": str(len(lines)), "axenat.history_sha256": _sha256_of_lines(lines),
        "run": config["run"], "objective": config["objective"]["name"], "corpus": config["corpus"],
        "target_side": config["target_side"],
    }  # fmt: skip
    if speed:
        tags["axenat.speed_step"] = str(speed[-1]["step"])
    tracker.log(run_id, metrics=metrics, params=flat(config) if not sent else None, tags=tags)
    return run_id


def _speed_after(step: int, folder: Path) -> list[dict[str, Any]]:
    """What the clock said after this step; it stays beside the checkpoints, since no two reruns agree on it."""
    path = folder / "checkpoints" / "speed.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []  # without one that is being written
    found = [json.loads(line) for line in lines]
    return [{"kind": "speed", **line} for line in found if line["step"] > step]


def _sha256_of_lines(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def publish_run(
    tracker: Tracker, folder: Path, parent: str, study: str, data_version: str | None, further: Sequence[Path] = ()
) -> None:
    """All that a run's folder holds: its training, its tuning and its scores; `further` are of any run's folder."""
    config, provenance = read_yaml(folder / "config.yaml"), folder / "provenance.json"
    made = read_json(provenance) if provenance.exists() else {}  # DVC does not keep it
    common = {
        "study": study, "run": config["run"], "corpus": config["corpus"], "objective": config["objective"]["name"],
        "target_side": config["target_side"], "data_version": data_version, "mlflow.parentRunId": parent,
        "mlflow.source.git.commit": made.get("commit"), "dirty": made.get("dirty"), "host": made.get("host"),
        "slurm_job": made.get("slurm_job"),
    }  # fmt: skip
    run_id = publish_training(tracker, folder)
    _finish(tracker, run_id, common, [folder / name for name in
            ("config.yaml", "history.jsonl", "best.json", "provenance.json")])  # fmt: skip
    for path in sorted(folder.glob("tuned.json")):
        run_id = tracker.run(folder, "tune", f"{config['run']}/tune", sha256_of(path))
        tuned = read_json(path)
        # MLflow steps are whole numbers: the grid value is counted in thousandths.
        metrics = [("valid.bleu", one["bleu"], round(1000 * one["value"])) for one in tuned["candidates"]]
        tracker.log(run_id, metrics=metrics, params={tuned["key"]: tuned["value"], **flat(config)})
        _finish(tracker, run_id, common, [path, folder / "decode.yaml"])
    also = [path for path in further if folder.resolve() in path.resolve().parents and path.exists()]
    for path in (*outputs_in(folder, "score.json"), *also):
        score = read_json(path)
        stage = f"score/{score['split']}/{score['decode']}"
        run_id = tracker.run(folder, stage, f"{config['run']}/{stage}", sha256_of(path))
        numbers = {key: value for key, value in score.items() if isinstance(value, int | float)}
        metrics = [(f"{score['split']}.{key}", float(value), 0) for key, value in numbers.items()]
        tracker.log(run_id, metrics=metrics, params=flat(config), tags={"signature": score["signature"]})
        _finish(tracker, run_id, common, [path, path.with_name(path.name.replace(".score.json", ".txt"))])


def _finish(tracker: Tracker, run_id: str, tags: dict[str, Any], artifacts: list[Path]) -> None:
    """Artifacts go up once: a finished run of the same fingerprint has them already."""
    if tracker.tags(run_id).get("axenat.finished"):
        return
    tracker.artifacts(run_id, artifacts)
    tracker.log(run_id, tags={**tags, "axenat.finished": "yes"})
    tracker.client.set_terminated(run_id)


def publish_study(
    results: Path, study: str, runs: list[str], data_version: str | None, further: Sequence[Path] = ()
) -> int:
    """One parent run for the study, its runs beneath it; returns how many runs were there to send."""
    # best.json is the last file that a training writes.
    ready = [results / "runs" / run for run in runs if (results / "runs" / run / "best.json").exists()]
    if not ready:
        return 0
    tracker = Tracker(tracking_uri())
    parent = tracker.run(results, "study", study, hashlib.sha256(study.encode()).hexdigest())
    for folder in ready:
        publish_run(tracker, folder, parent, study, data_version, further)
    tracker.artifacts(parent, [results / "summary.json", results / "report.html"])
    tracker.log(parent, tags={"study": study, "data_version": data_version})
    tracker.client.set_terminated(parent)
    return len(ready)


def publish_or_explain(
    results: Path, study: str, runs: list[str], data_version: str | None, further: Sequence[Path] = ()
) -> int:
    """Any failure of the store is one sentence: nothing is lost, since the files can be sent again."""
    try:
        return publish_study(results, study, runs, data_version, further)
    except UserError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"MLflow at {tracking_uri()} did not take the runs ({reason}); publish again later") from error


@contextmanager
def following(folder: Path) -> Iterator[None]:
    """While training runs, a thread sends its history now and then; the end is sent by `axenat publish`."""
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(folder, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()


def _follow(folder: Path, stop: threading.Event) -> None:
    tracker: Tracker | None = None
    while not stop.wait(FOLLOW_SECONDS):
        try:
            tracker = tracker or Tracker(tracking_uri())
            publish_training(tracker, folder)
        except Exception as error:  # whatever a store does, the training goes on
            log.warning("MLflow did not answer (%s); axenat publish will send the history later", error)
            return
