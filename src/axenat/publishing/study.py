"""A whole study in MLflow: one parent with the final scores of all its runs, and the runs beneath it."""

import hashlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from axenat.dvc_lock import ignored_in, listing_of, md5_of_listing
from axenat.files import UserError, read_mapping, without_credentials
from axenat.publishing.run_files import has_begun, is_finished, is_training
from axenat.publishing.stages import publish_run, send_final
from axenat.publishing.training import set_status
from axenat.tracking import StoredRun, Tracker, reason_of, tracking_uri

log = logging.getLogger(__name__)
NOTE_LENGTH = 7000  # of 8000 characters that a tag may have
# What the parent shows of each run; its own run has the rest.
SHOWN = ("test/bleu", "test/repetition", "valid/bleu")
# By its place in the study: MLflow's own colours are drawn by lot, and of nine runs three were of one blue.
COLOURS = (
    "#4269d0", "#ff725c", "#3ca951", "#efb118", "#a463f2", "#6cc5b0", "#ff8ab7", "#9c6b4e", "#97bbf5", "#9498a0",
)  # fmt: skip


@dataclass(kw_only=True, slots=True)
class Sent:
    number: int = 0
    problems: list[str] = field(default_factory=list)


def data_version(pin: Path) -> str | None:
    """The sum by which DVC knows the raw data that is here; in a clone without it, the one that is pinned. None where
    nothing pins any."""
    if not pin.exists():
        return None
    outs = read_mapping(pin, "outs")["outs"]
    pinned = outs[0].get("md5") if isinstance(outs, list) and outs and isinstance(outs[0], dict) else None
    if not isinstance(pinned, str):
        raise UserError(f"{pin}: outs has no md5; `dvc add data` writes it, and so does `git checkout {pin}`")
    if not (pin.parent / ".dvc").is_dir():  # no repository of DVC, which alone knows what it ignores
        return pinned
    folder = pin.with_suffix("")
    there = listing_of(folder, ignored_in([str(folder)]))
    found = md5_of_listing(there) if there else pinned
    if found != pinned:
        log.warning("%s is not what %s pins; runs tell what is there, and `dvc add %s` pins it", folder, pin, folder)
    return found


def parent_of(tracker: Tracker, results: Path, study: str) -> StoredRun:
    """One a study and folder, whatever becomes of its runs."""
    parent = tracker.run(results, "study", study, hashlib.sha256(study.encode()).hexdigest())
    tracker.log(parent, tags={"study": study, "stage": "study"})
    return parent


def publish_study(
    results: Path, study: str, runs: Sequence[str], version: str | None, further: Sequence[Path] = (),
    patience: float | None = None, *, failed: bool = False,
) -> Sent:  # fmt: skip
    """Send what is missing. A run that cannot be read, or comes after so many seconds, does not stop the others."""
    sent, finals = Sent(), {}
    folders = [results / "runs" / run for run in runs]
    folders = [folder for folder in folders if is_finished(folder) or has_begun(folder)]
    if not folders:
        return sent
    end = time.monotonic() + patience if patience else None
    tracker = Tracker(tracking_uri())
    parent = parent_of(tracker, results, study)
    belongs = {"study": study, "mlflow.parentRunId": parent.id}
    for folder in folders:
        if end and time.monotonic() > end:
            sent.problems.append(
                f"MLflow is too slow: {folder.name} and what follows was not sent; publish again later"
            )
            break
        try:
            colour = COLOURS[runs.index(folder.name) % len(COLOURS)]
            finals[folder.name] = publish_run(tracker, folder, belongs, version, further, colour)
            sent.number += 1
        except UserError as error:
            sent.problems.append(str(error))
    shown = {f"{key}/{run}": final[key] for run, final in finals.items() for key in SHOWN if key in final}
    send_final(tracker, parent, shown)
    _tell_parent(tracker, parent, results, version)
    done = len(finals) == len(runs) and all("test/bleu" in final for final in finals.values())
    going_on = any(map(is_training, folders)) or parent.tags.get("axenat.status") != "FAILED"
    status = "FINISHED" if done else "RUNNING" if going_on else "FAILED"  # who sends once more does not know better
    set_status(tracker, parent, "FAILED" if failed else status)
    return sent


def _tell_parent(tracker: Tracker, parent: StoredRun, results: Path, version: str | None) -> None:
    """Summary, page, tables and figures; the result table is the description that MLflow shows first."""
    files = {name: results / name for name in ("summary.json", "report.html")}
    files |= {f"tables/{path.name}": path for path in sorted((results / "tables").glob("*.md"))}
    files |= {f"plots/{path.name}": path for path in sorted((results / "figures").glob("*.svg"))}
    tracker.send_files(parent, files)
    table = results / "tables" / "results.md"
    note = table.read_text(encoding="utf-8")[:NOTE_LENGTH] if table.exists() else None
    tracker.log(parent, tags={"data_version": version, "mlflow.note.content": note})


def publish_or_explain(
    results: Path, study: str, runs: Sequence[str], version: str | None, further: Sequence[Path] = (),
    patience: float | None = None, *, failed: bool = False,
) -> int:  # fmt: skip
    """Any failure of the store is one sentence: nothing is lost, since the files can be sent again."""
    try:
        sent = publish_study(results, study, runs, version, further, patience, failed=failed)
    except UserError:
        raise
    except Exception as error:
        where = without_credentials(tracking_uri())
        raise UserError(f"MLflow at {where} did not take the runs ({reason_of(error)}); publish again later") from None
    if sent.problems:
        raise UserError("; ".join([*sent.problems, f"{sent.number} other runs were sent"]))
    return sent.number
