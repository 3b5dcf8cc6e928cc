"""The connection to MLflow. With `serving`, the only module that imports mlflow.

Files are the truth and MLflow is a window on them: what `axenat.publishing` sends through here can be sent again and
may fail without harm.
"""

import getpass
import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from axenat.files import UserError, alone, sha256_of, without_credentials

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

EXPERIMENT = "axenat"
# Every wait on a server is bounded: a dead one costs seconds, not the minutes of the defaults.
BOUNDS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ARTIFACT_UPLOAD_DOWNLOAD_TIMEOUT": "60",
}
# Addresses of runs would be printed with the credentials of their store.
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true"}
LOCK_SECONDS = 600.0  # the tables of a fresh database take seconds, on a busy machine minutes
TABLES = {"alembic_version", "experiments", "runs", "registered_models"}  # what every database of MLflow has
MAKING_SECONDS = 5.0
METRICS_PER_CALL = 1000  # MLflow's own limits
PARAMS_PER_CALL = 100
FILES = "axenat.files"  # a tag: which files of which content a run has


class Point(NamedTuple):
    """A value of a curve. Sent again with the same time, it is the same point to MLflow and is kept once."""

    key: str
    value: float
    step: int
    milliseconds: int  # since 1970


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as the store has it."""

    id: str
    tags: dict[str, str]
    started: int  # milliseconds since 1970

    def record(self, tag: str) -> dict[str, Any]:
        """What a tag keeps as JSON; MLflow cuts off what is too long, and then it is all sent again."""
        try:
            return dict(json.loads(self.tags.get(tag, "{}")))
        except ValueError:
            return {}


def tracking_uri() -> str:
    """The server named in the environment, or the database that plain `mlflow ui` opens here."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path('mlflow.db').resolve()}"


def reason_of(error: Exception) -> str:
    """What a store said, in one line."""
    return without_credentials(" ".join(str(error).split()))[:200] or type(error).__name__


class Tracker:
    """A connection to the store, and the one experiment that all runs are in."""

    def __init__(self, uri: str) -> None:
        for name, value in {**BOUNDS, **QUIET}.items():
            os.environ.setdefault(name, value)
        _refuse_damaged(uri)
        with _creating_tables(uri):
            self.client = _client(uri)
            self.experiment_id = _experiment(self.client)

    def run(self, folder: Path, stage: str, name: str, fingerprint: str, *, started: int | None = None) -> StoredRun:
        """The one run of this folder and stage.

        MLflow never changes a parameter: a run of another fingerprint goes to MLflow's bin and a new one takes its
        place. Of several that were made at the same time, the oldest stays.
        """
        with alone(_lock(folder), patience=LOCK_SECONDS):
            found = sorted(self._runs_of(folder, stage), key=lambda run: (run.info.start_time, run.info.run_id))
            same = [run for run in found if run.data.tags.get("axenat.fingerprint") == fingerprint]
            if not same:
                tags = {**_place(folder), "axenat.stage": stage, "axenat.fingerprint": fingerprint}
                same = [self.client.create_run(self.experiment_id, start_time=started, tags=tags, run_name=name)]
            for other in found:
                if other.info.run_id != same[0].info.run_id:
                    self.client.delete_run(other.info.run_id)
        return StoredRun(str(same[0].info.run_id), dict(same[0].data.tags), int(same[0].info.start_time))

    def _runs_of(self, folder: Path, stage: str | None = None) -> "list[Run]":
        where = f"tags.`axenat.place` = '{_place(folder)['axenat.place']}'"
        if stage is not None:
            where += f" and tags.`axenat.stage` = '{stage}'"
        return list(self.client.search_runs([self.experiment_id], where))

    def remove_unless(self, folder: Path, is_true: Callable[[str, str], bool]) -> None:
        """Runs of this folder go unless it is true of their stage and fingerprint that they tell what is there."""
        for found in self._runs_of(folder):
            tags = found.data.tags
            if not is_true(tags["axenat.stage"], tags["axenat.fingerprint"]):
                self.client.delete_run(found.info.run_id)

    def log(self, run: StoredRun, *, points: Sequence[Point] = (), params: Mapping[str, Any] | None = None,
            tags: Mapping[str, Any] | None = None) -> None:  # fmt: skip
        """Tags go last, so that a tag that tells what was sent is never true too early."""
        from mlflow.entities import Metric, Param, RunTag

        named = [Param(key, str(value)) for key, value in (params or {}).items()]
        for start in range(0, len(named), PARAMS_PER_CALL):
            self.client.log_batch(run.id, params=named[start : start + PARAMS_PER_CALL])
        sent = [Metric(point.key, point.value, point.milliseconds, point.step) for point in points]
        for start in range(0, len(sent), METRICS_PER_CALL):
            self.client.log_batch(run.id, metrics=sent[start : start + METRICS_PER_CALL])
        labels = {key: str(value) for key, value in (tags or {}).items() if value is not None}
        changed = [RunTag(key, value) for key, value in labels.items() if run.tags.get(key) != value]
        if changed:
            self.client.log_batch(run.id, tags=changed)
            run.tags.update(labels)

    def send_files(self, run: StoredRun, files: Mapping[str, Path]) -> None:
        """Those that are there, each under its name, unless the run has the same content already."""
        there = {name: path for name, path in files.items() if path.is_file()}
        had = run.record(FILES)
        has = {name: sha256_of(path)[:16] for name, path in there.items()}
        for name in has:
            if had.get(name) != has[name]:
                folder = str(Path(name).parent)
                self.client.log_artifact(run.id, str(there[name]), None if folder == "." else folder)
        if had | has != had:
            self.log(run, tags={FILES: json.dumps(had | has)})

    def add_data(self, run: StoredRun, name: str, version: str) -> None:
        """The data as an input of the run; its digest is DVC's."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        data = Dataset(name, version, "dvc", json.dumps({"uri": f"data/{name}", "pin": "data.dvc"}))
        tags = [InputTag("mlflow.data.context", "training")]
        self.client.log_inputs(run.id, [DatasetInput(data, tags)])

    def end(self, run: StoredRun, status: str = "FINISHED", ended: int | None = None) -> None:
        self.client.set_terminated(run.id, status, ended)


def _place(folder: Path) -> dict[str, str]:
    """A folder by its full path; the sum of it has no quotes to get wrong in a search."""
    path = str(folder.resolve())
    return {
        "axenat.place": hashlib.sha256(path.encode()).hexdigest()[:32],
        "axenat.folder": path,
        "mlflow.user": _user(),
        "mlflow.source.name": "axenat",
    }


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may know no names
        return str(os.getuid())


def _lock(folder: Path) -> Path:
    """Where DVC does not look: among a run's checkpoints, or at the top of all results."""
    return folder / ("checkpoints" if (folder / "config.yaml").exists() else "") / "mlflow.lock"


def _client(uri: str) -> "MlflowClient":
    from mlflow.tracking import MlflowClient

    logging.getLogger("alembic").setLevel(logging.WARNING)  # it narrates the creation of tables
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # so does this; its errors are ours to tell
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # each retry
    return MlflowClient(tracking_uri=uri)


def _experiment(client: "MlflowClient") -> str:
    from mlflow.exceptions import MlflowException

    name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name))
        except MlflowException:  # another job was quicker
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    if found.lifecycle_stage != "active":
        words = f"mlflow experiments restore --experiment-id {found.experiment_id} brings it back"
        raise UserError(f"the MLflow experiment {name} was deleted; {words}")
    return str(found.experiment_id)


def database_in(uri: str) -> Path | None:
    """The file, if the store is one."""
    scheme, _, path = uri.partition(":///")
    return Path(path.partition("?")[0]) if scheme.startswith("sqlite") and path else None


def _refuse_damaged(uri: str) -> None:
    """MLflow would try for minutes, and end with a long account of it."""
    place = database_in(uri)
    reason = place and why_unusable(place)
    if reason:
        raise UserError(f"{place} {reason}; move it away, and `axenat publish` fills a new one from the files")


def why_unusable(place: Path) -> str:
    """Of a database that is there; empty if it can be read and written. A server may just be making its tables."""
    end = time.monotonic() + MAKING_SECONDS
    while (reason := _trouble_of(place)).startswith("lacks") and time.monotonic() < end:
        time.sleep(0.2)
    return reason


def _trouble_of(place: Path) -> str:
    if not place.exists():
        return ""
    if not place.is_file():
        return "is no file"
    if not os.access(place, os.R_OK | os.W_OK) or not os.access(place.parent, os.W_OK):
        return "cannot be written"
    try:
        with closing(sqlite3.connect(place, timeout=20)) as connection:
            tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    except sqlite3.OperationalError:  # others are at work on it
        return ""
    except sqlite3.DatabaseError as error:
        return f"is damaged ({error})"
    return f"lacks tables of MLflow ({', '.join(sorted(TABLES - tables))})" if tables and TABLES - tables else ""


@contextmanager
def _creating_tables(uri: str) -> Iterator[None]:
    """Processes that create the tables of a fresh database at the same time break it, and so does one that is killed
    meanwhile: they are made in a file beside it, which takes its place when all of them are there."""
    place, scheme = database_in(uri), uri.partition(":///")[0]
    if place is None:
        yield
        return
    with alone(f"{place}.lock", patience=LOCK_SECONDS):
        if not place.exists() or not place.stat().st_size:
            beside = place.with_name(f".{place.name}.new")
            for left in (beside, beside.with_name(f"{beside.name}-journal")):
                left.unlink(missing_ok=True)
            _client(f"{scheme}:///{beside}").search_experiments(max_results=1)
            with beside.open("rb") as stream:
                os.fsync(stream.fileno())
            beside.replace(place)
        yield
