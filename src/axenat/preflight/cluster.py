"""Does the Slurm profile name partitions and accounts that exist?"""

import getpass
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from axenat.files import UserError, read_yaml
from axenat.preflight.findings import Finding, ok, problem, warning

SECONDS = 20


def check_cluster(profile: Path) -> Iterator[Finding]:
    """Of a Snakemake profile: a folder with config.yaml, or the file itself."""
    settings = _settings(profile)
    if settings.get("executor") != "slurm":
        yield ok("profile", f"{profile} has executor {settings.get('executor', 'local')}")
        return
    if shutil.which("sbatch") is None:
        yield problem("Slurm", "there is no sbatch on the path", "run on a login node of the cluster")
        return
    listed = _lines("sinfo", "--noheader", "--format=%P")
    if not listed:
        yield problem("Slurm", "sinfo names no partition", "ask whether the cluster is up: sinfo; scontrol ping")
        return
    yield _partitions(profile, settings, listed)
    yield _accounts(profile, settings)


def _settings(profile: Path) -> Mapping[str, Any]:
    names = ("", "config.yaml", "profile.yaml")
    path = next((profile / name for name in names if (profile / name).is_file()), None)
    if path is None:
        raise UserError(f"{profile}: no such profile; give a folder with config.yaml, such as slurm")
    settings = read_yaml(path)
    if not isinstance(settings, Mapping):
        raise UserError(f"{path}: expected keys and values of a Snakemake profile")
    return settings


def _resource(settings: Mapping[str, Any], name: str) -> set[str]:
    """Every value that default-resources or set-resources give to it."""
    sections = [settings.get("default-resources"), *(settings.get("set-resources") or {}).values()]
    return {str(section[name]) for section in sections if isinstance(section, Mapping) and name in section}


def _partitions(profile: Path, settings: Mapping[str, Any], listed: list[str]) -> Finding:
    known, named = {name.rstrip("*") for name in listed}, _resource(settings, "slurm_partition")
    unknown = sorted(named - known)
    if unknown:
        words = f"unknown partition {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        return problem("Slurm", words, f"correct slurm_partition in {profile}")
    if named:
        return ok("Slurm", f"partition {', '.join(sorted(named))}")
    default = next((name.rstrip("*") for name in listed if name.endswith("*")), None)
    if default is None:
        fix = f"name one of {', '.join(sorted(known))} as slurm_partition under default-resources in {profile}"
        return problem("Slurm", "no partition is named, and the cluster has no default", fix)
    return ok("Slurm", f"partition {default}, the default of the cluster")


def _accounts(profile: Path, settings: Mapping[str, Any]) -> Finding:
    named, user = _resource(settings, "slurm_account"), getpass.getuser()
    mine = set(
        _lines("sacctmgr", "--noheader", "--parsable2", "show", "associations", f"user={user}", "format=account")
    )
    if not mine:
        words = f"account {', '.join(sorted(named)) or 'not named'}; the cluster does not tell those of {user}"
        return ok("account", words)
    unknown = sorted(named - mine)
    if unknown:
        words = f"{user} has no account {', '.join(unknown)}, but {', '.join(sorted(mine))}"
        return problem("account", words, f"correct slurm_account in {profile}")
    if not named and len(mine) > 1:
        fix = f"name slurm_account under default-resources in {profile}"
        return warning("account", f"none is named, and {user} has several: {', '.join(sorted(mine))}", fix)
    return ok("account", ", ".join(sorted(named or mine)))


def _lines(*command: str) -> list[str]:
    """What a command of Slurm says; nothing if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]
