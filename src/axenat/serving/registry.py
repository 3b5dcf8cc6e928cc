"""Tuned runs in MLflow's registry: each model once, under an alias that only the best of its corpus has."""

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import axenat
from axenat.serving.candidate import Candidate
from axenat.serving.champion import Version, why_not_champion
from axenat.serving.service import Limits
from axenat.tracking import Tracker

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

CHAMPION = "champion"
FINGERPRINT = "fingerprint"
WAIT_SECONDS = 60  # for a server to take a version
PACKAGE = Path(axenat.__file__).parent
# What decoding imports; engines that are not installed here are not used there either.
NEEDED = ("jieba", "mlflow", "numpy", "pyyaml", "sacremoses", "safetensors", "subword-nmt", "torch")
ENGINES = ("ctranslate2", "onnx", "onnxruntime")


def register(tracker: Tracker, candidates: Sequence[Candidate], unpinned: Callable[[Path], str]) -> Iterator[str]:
    """A sentence about each, once all are there: which one is the champion, or why not.

    `unpinned` says of a run's folder why others cannot rely on it; empty if they can.
    """
    numbers = {one.folder: _number_of(tracker, one) for one in candidates}
    for one in candidates:
        found = list(_versions(tracker.client, one.name))
        mine = next(version for version in found if version.number == numbers[one.folder])
        champion = _champion(tracker.client, one.name, found)
        reason = why_not_champion(mine, found, champion) or unpinned(one.folder)
        if not reason and champion != mine:
            tracker.client.set_registered_model_alias(one.name, CHAMPION, str(mine.number))
        yield f"{one.name} {mine}: {f'not the champion, since {reason}' if reason else CHAMPION}"


def _number_of(tracker: Tracker, one: Candidate) -> int:
    """Of the version that is this very model, made if there is none."""
    found = tracker.client.search_model_versions(f"name = '{one.name}'")
    same = [int(item.version) for item in found if item.tags.get(FINGERPRINT) == one.fingerprint]
    return min(same) if same else _new_version(tracker, one)


def _versions(client: "MlflowClient", name: str) -> Iterator[Version]:
    """Those that tell how good they are; one that somebody registered by hand may not."""
    for item in client.search_model_versions(f"name = '{name}'"):
        tags = item.tags
        if {"run", "valid_bleu", "valid_sha256", "bleu_signature"} <= tags.keys():
            measure = (tags["valid_sha256"], tags["bleu_signature"])
            yield Version(number=int(item.version), run=tags["run"], bleu=float(tags["valid_bleu"]), measure=measure)


def _champion(client: "MlflowClient", name: str, found: Sequence[Version]) -> Version | int | None:
    """Only its number, if it does not tell how good it is."""
    number = client.get_registered_model(name).aliases.get(CHAMPION)
    if number is None:
        return None
    return next((version for version in found if version.number == int(number)), int(number))


def _new_version(tracker: Tracker, one: Candidate) -> int:
    from mlflow.exceptions import MlflowException

    client = tracker.client
    try:
        client.create_registered_model(one.name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    run_id = _training_run(tracker, one)
    logged = client.create_logged_model(
        tracker.experiment_id, one.run.replace(".", "_"), source_run_id=run_id, tags=one.tags, model_type="translation"
    )  # MLflow allows no dots in this name
    try:
        with tempfile.TemporaryDirectory() as folder:
            save(one, Path(folder) / "model", model_id=logged.model_id)
            client.log_model_artifacts(logged.model_id, str(Path(folder) / "model"))
    except BaseException:
        with suppress(MlflowException):  # a store that is away cannot be told either
            client.finalize_logged_model(logged.model_id, "FAILED")
        raise
    client.finalize_logged_model(logged.model_id, "READY")
    made = client.create_model_version(
        one.name, f"models:/{logged.model_id}", run_id=run_id, model_id=logged.model_id,
        tags={**one.tags, FINGERPRINT: one.fingerprint}, await_creation_for=WAIT_SECONDS,
    )  # fmt: skip
    return int(made.version)


def _training_run(tracker: Tracker, one: Candidate) -> str | None:
    """The MLflow run that shows how it was trained, if it was sent there."""
    where = f"tags.`axenat.stage` = 'train' and tags.run = '{one.run}'"
    found = tracker.client.search_runs([tracker.experiment_id], where)
    here = str(one.folder.resolve())
    return next((str(run.info.run_id) for run in found if run.data.tags.get("axenat.folder") == here), None)


def save(one: Candidate, path: Path, **identity: Any) -> None:
    """The model with all that it needs, this package included; the example is translated once, as a trial."""
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    import mlflow.pyfunc
    from mlflow.models import Model

    for name in ("mlflow.models.signature", "mlflow.pyfunc", "mlflow.store.model_registry"):  # they narrate it all
        logging.getLogger(name).setLevel(logging.WARNING)
    mlflow.pyfunc.save_model(
        str(path),
        python_model=str(PACKAGE / "serving" / "translation_model.py"),
        artifacts={name: str(file) for name, file in one.files.items()},
        code_paths=[str(PACKAGE)],
        pip_requirements=requirements(),
        input_example=list(one.example),
        model_config=asdict(Limits()),  # MLflow lets only what is written here be set otherwise when it loads
        mlflow_model=Model(**identity),
    )


def requirements() -> list[str]:
    """The versions that are installed here, without what names a build of this machine."""
    return [f"{name}=={found.partition('+')[0]}" for name in (*NEEDED, *ENGINES) if (found := _installed(name))]


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
