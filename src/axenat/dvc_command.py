"""DVC as a command: its Python interface is not a promise, its command line is."""

import subprocess
from collections.abc import Sequence

from axenat.files import UserError


def dvc(*arguments: str, stdin: str | None = None, allowed: Sequence[int] = (0,)) -> str:
    """What it prints; what it refuses is one sentence."""
    try:
        done = subprocess.run(["dvc", *arguments], capture_output=True, text=True, input=stdin)
    except FileNotFoundError:
        raise UserError("dvc is not on the path; activate the environment first") from None
    if done.returncode not in allowed:
        reason = " ".join(done.stderr.split())[:300]
        raise UserError(f"dvc {arguments[0]} failed ({reason})")
    return done.stdout
