"""Does the tracking store answer? MLflow is not imported, since that alone takes seconds.

A store that is away is never a problem: runs go on, and `axenat publish` sends later what is missing.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import requests

from axenat.files import without_credentials
from axenat.preflight.findings import Finding, ok, warning
from axenat.tracking import EXPERIMENT, tracking_uri, why_unusable

SECONDS = 5.0
LATER = "runs go on without it; send them later with axenat publish"


def check_store(*, on_cluster: bool) -> Finding:
    uri = tracking_uri()
    if uri.startswith("sqlite:///"):
        return _database(Path(uri.removeprefix("sqlite:///")), on_cluster)
    if uri.startswith(("http://", "https://")):
        return _server(uri)
    kind = uri.partition(":")[0]
    return warning("tracking", f"a store of kind {kind!r} is not looked at here", f"if it is away, {LATER}")


def _database(path: Path, on_cluster: bool) -> Finding:
    if on_cluster:
        words = f"{path} is a file, and jobs on several machines must not write to one"
        return warning("tracking", words, "start `mlflow server` and set MLFLOW_TRACKING_URI to its address")
    if not path.exists():
        if os.access(path.parent, os.W_OK):
            return ok("tracking", f"{path} will be made")
        return warning("tracking", f"{path} cannot be made there", "set MLFLOW_TRACKING_URI")
    if reason := why_unusable(path):
        words = "move it away, or set MLFLOW_TRACKING_URI; axenat publish fills a new one from the files"
        return warning("tracking", f"{path} {reason}", words)
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=SECONDS)) as connection:
            (runs,) = connection.execute("select count(*) from runs").fetchone()
    except sqlite3.Error as error:
        return warning("tracking", f"{path} does not answer ({error})", LATER)
    return ok("tracking", f"{path} answers, {runs} runs")


def _server(uri: str) -> Finding:
    shown = without_credentials(uri)
    address = f"{uri.rstrip('/')}/api/2.0/mlflow/experiments/get-by-name"
    try:
        answer = requests.get(
            address, {"experiment_name": EXPERIMENT}, auth=_basic(), headers=_bearer(), timeout=SECONDS
        )
    except requests.RequestException as error:
        return warning("tracking", f"{shown} does not answer ({type(error).__name__})", f"start it, or: {LATER}")
    if answer.status_code in (401, 403):
        words = f"{shown} refuses us ({answer.status_code})"
        return warning("tracking", words, "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or _TOKEN")
    if answer.status_code not in (200, 404):  # 404: there is no experiment of ours yet
        return warning("tracking", f"{shown} answers with status {answer.status_code}", f"look at it, or: {LATER}")
    return ok("tracking", f"{shown} answers")


def _basic() -> tuple[str, str] | None:
    name, password = (os.environ.get(f"MLFLOW_TRACKING_{key}") for key in ("USERNAME", "PASSWORD"))
    return (name, password) if name and password else None


def _bearer() -> dict[str, str]:
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    return {"Authorization": f"Bearer {token}"} if token else {}
