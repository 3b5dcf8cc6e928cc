"""A training in MLflow: one run with its parameters, curves, data and files. What was sent before is not sent again."""

from pathlib import Path
from typing import Any

from axenat.files import UserError
from axenat.layout import provenance_in
from axenat.publishing.run_files import (
    Clock,
    History,
    config_of,
    fingerprint,
    flat,
    history_of,
    is_finished,
    is_training,
    system_after,
)
from axenat.tracking import StoredRun, Tracker


def send_training(tracker: Tracker, folder: Path, belongs: dict[str, Any], *, live: bool = False) -> StoredRun:
    """The lines that came since the last time; `belongs` are the tags that say to which study and parent.

    When the lines sent earlier are no longer those of the file (other data, another version), all are sent anew. There
    may be fewer for a while: a resumed training writes again what it had not saved.
    """
    live = live or not is_finished(folder)
    history, clock = history_of(folder, live=live), Clock(folder)
    run = _run_of(tracker, folder, history, clock)
    sent = int(run.tags.get("axenat.history_lines", 0))
    if sent and not _goes_on(history, run, live):
        tracker.client.delete_run(run.id)
        run, sent = _run_of(tracker, folder, history, clock), 0
    params = {} if run.tags.get("axenat.history_lines") else flat(config_of(folder))
    speed = clock.speed_after(int(run.tags.get("axenat.speed_step", 0)))
    system = system_after(folder, float(run.tags.get("axenat.system_time", 0)))
    points = clock.points([*history.values_after(sent), *speed], run.started)
    marks: dict[str, Any] = {"axenat.speed_step": speed[-1][2] if speed else None}
    if system:
        marks["axenat.system_time"] = system[-1].milliseconds / 1000
    if len(history.lines) >= sent:
        number = len(history.lines)
        marks |= {"axenat.history_lines": number, "axenat.history_sha256": history.sum_of(number)}
    tracker.log(run, points=[*points, *system], params=params, tags={**tags_of(folder, "train"), **belongs, **marks})
    return run


def _run_of(tracker: Tracker, folder: Path, history: History, clock: Clock) -> StoredRun:
    """Known by its configuration and its first line, which other data would have made another."""
    mark = fingerprint(folder, more=history.sum_of(1))
    return tracker.run(folder, "train", str(config_of(folder)["run"]), mark, started=clock.started)


def _goes_on(history: History, run: StoredRun, live: bool) -> bool:
    sent = int(run.tags["axenat.history_lines"])
    if len(history.lines) < sent:
        return live
    return run.tags.get("axenat.history_sha256") == history.sum_of(sent)


def tags_of(folder: Path, stage: str) -> dict[str, Any]:
    """What a run is searched and grouped by."""
    config, made = config_of(folder), provenance_in(folder)
    job = _newest_job(folder, config["run"], made.get("slurm_job"))
    return {
        "run": config["run"], "stage": stage, "corpus": config["corpus"], "objective": config["objective"]["name"],
        "target_side": config["target_side"], "mlflow.source.git.commit": made.get("commit"),
        "dirty": made.get("dirty"), "host": made.get("host"), "processor": made.get("processor"), "slurm_job": job,
        **(_logs(folder, config["run"], job) if stage == "train" else {}),
    }  # fmt: skip


def _newest_job(folder: Path, run: str, known: str | None) -> str | None:
    """One that was refused before it began to train left nothing but its log."""
    if known is None or is_finished(folder) or is_training(folder):
        return known
    logs = folder.resolve().parents[2].glob(f"slurm_logs/rule_train*/{run}/*.log")
    return max(((path.stat().st_mtime, path.stem) for path in logs), default=(0, known))[1]


def _logs(folder: Path, run: str, job: str | None) -> dict[str, str]:
    """Where to look when it has failed: what the training said, and what Slurm's job did."""
    base = folder.resolve().parents[2]
    own = [*base.glob(f"slurm_logs/rule_*/{run}/{job}.log")] if job else []
    named = {"log": base / "logs" / "train" / f"{run}.log", **({"slurm_log": own[0]} if own else {})}
    return {tag: str(path.relative_to(base)) for tag, path in named.items() if path.exists()}


def close_training(tracker: Tracker, folder: Path, run: StoredRun) -> None:
    """Its state as the files show it: done, going on, or broken off and to be resumed some day."""
    status = "FINISHED" if is_finished(folder) else "RUNNING" if is_training(folder) else "KILLED"
    set_status(tracker, run, status, Clock(folder).ended)


def set_status(tracker: Tracker, run: StoredRun, status: str, ended: int | None = None) -> None:
    """A run that MLflow has as ended begins again when its training does."""
    if run.tags.get("axenat.status") == status:
        return
    if status == "RUNNING":
        tracker.client.update_run(run.id, status)
    else:
        tracker.end(run, status, ended)
    tracker.log(run, tags={"axenat.status": status})


def check_history(folder: Path) -> None:
    """Refuse a damaged one before anything of the run is sent."""
    history = history_of(folder, live=not is_finished(folder))
    if not history.lines:
        raise UserError(f"{history.path}: empty; there is nothing to send")
    for _ in history.values_after(0):
        pass
