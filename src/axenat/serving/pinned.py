"""Do data.dvc and dvc.lock say which data and settings made a model? Only then may others rely on it."""

import json
import os
from pathlib import Path

from axenat.dvc_command import dvc
from axenat.dvc_lock import recorded
from axenat.files import UserError

MOST_NAMED = 3


def why_unpinned(folder: Path) -> str:
    """In words; empty if `dvc status` is clean and dvc.lock holds the model of this run."""
    lock = Path("dvc.lock")
    if not lock.exists():
        return "there is no dvc.lock here that says what it was made from"
    model = Path(os.path.relpath(folder)) / "model.safetensors"
    if not any(model.is_relative_to(out) for out in recorded(lock)):
        return f"dvc.lock does not know {model.parent}"
    return _unclean()


def _unclean() -> str:
    try:
        changed = list(json.loads(dvc("status", "--json")))
    except (UserError, ValueError):
        return "dvc status cannot be told"
    more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
    return f"dvc status is not clean ({', '.join(changed[:MOST_NAMED])}{more} changed)" if changed else ""
