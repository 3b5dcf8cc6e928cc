"""Is there a Slurm, do partitions and accounts exist, and has a partition nodes that are large enough?"""

import getpass
import pkgutil
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from axenat.files import UserError, read_yaml
from axenat.preflight.findings import Finding, ok, problem, warning
from axenat.preflight.nodes import check_features, check_nodes, default_partition, partitions, slurm_lines
from axenat.resources import Ask
from axenat.site import REPOSITORY, Site, site_file

PLUGIN = "snakemake-executor-plugin-slurm"
PLUGINS = (PLUGIN, f"{PLUGIN}-jobstep")  # the second one starts the command inside a job
FILES = ("config.yaml", "profile.yaml")  # of a profile; Snakemake knows others, by its version
INSTALL = f"pip install --constraint constraints.txt {PLUGIN}, in the environment of Snakemake"


def profile_named(name: str) -> Path | None:
    """Where Snakemake finds it; in a folder of `--directory` those of the repository count too. None: no profile."""
    if name == "none":
        return None
    for place in (Path(name), REPOSITORY / name):
        if place.is_file() or any((place / file).is_file() for file in FILES):
            return place
    from snakemake.cli import get_profile_dir  # takes a second

    found = get_profile_dir(name)
    return found[1] if found else Path(name)


def check_cluster(profile: Path, site: Site, asks: Mapping[str, Ask]) -> Iterator[Finding]:
    """Of a Snakemake profile: a folder with config.yaml, or the file itself."""
    settings = _settings(profile)
    if settings.get("executor") != "slurm":
        yield ok("profile", f"{profile} has executor {settings.get('executor', 'local')}")
        return
    for plugin in _missing_plugins():
        yield problem("Slurm", f"the plugin {plugin} is not installed", INSTALL)
    if shutil.which("sbatch") is None:
        yield problem("Slurm", "there is no sbatch on the path", "run on a login node of the cluster")
        return
    listed = partitions()
    if not listed:
        yield problem("Slurm", "sinfo names no partition", "ask whether the cluster is up: sinfo; scontrol ping")
        return
    known = _partitions(settings, site, listed)
    yield known
    yield _accounts(settings, site)
    if known.level == "ok":
        default = _of_profile(settings) or default_partition()
        yield from check_features(site, asks, default)
        yield from check_nodes(site, asks, default)


def _missing_plugins() -> list[str]:
    there = {module.name for module in pkgutil.iter_modules()}
    return [plugin for plugin in PLUGINS if plugin.replace("-", "_") not in there]


def require_plugin() -> None:
    """Called from the profile, before Snakemake knows of any workflow."""
    for plugin in _missing_plugins():
        print(f"axenat: Slurm: the plugin {plugin} is not installed; {INSTALL}", file=sys.stderr)
        sys.exit(2)


def refuse_problems(findings: Iterable[Finding]) -> None:
    """Before the first job is sent: what would make all of them fail, in one sentence."""
    for finding in findings:
        if finding.level == "problem":
            raise UserError(f"{finding.about}: {finding.words}; {finding.fix}")


def _settings(profile: Path) -> Mapping[str, Any]:
    path = next((profile / name for name in ("", *FILES) if (profile / name).is_file()), None)
    if path is None:
        raise UserError(f"{profile}: no such profile; give a folder with config.yaml, such as slurm")
    settings = read_yaml(path)
    if not isinstance(settings, Mapping):
        raise UserError(f"{path}: expected keys and values of a Snakemake profile")
    return settings


def _named(settings: Mapping[str, Any], resource: str, *of_site: str | None) -> set[str]:
    """Every value that default-resources, set-resources or the site give to it."""
    sections = [settings.get("default-resources"), *(settings.get("set-resources") or {}).values()]
    found = {str(section[resource]) for section in sections if isinstance(section, Mapping) and resource in section}
    return found | {name for name in of_site if name}


def _of_profile(settings: Mapping[str, Any]) -> str | None:
    """Where jobs go for which the site names no partition."""
    defaults = settings.get("default-resources")
    return defaults.get("slurm_partition") if isinstance(defaults, Mapping) else None


def _partitions(settings: Mapping[str, Any], site: Site, listed: list[str]) -> Finding:
    known = {name.rstrip("*") for name in listed}
    lists = _named(settings, "slurm_partition", site.partition, site.gpu_partition)
    named = {name for names in lists for name in names.split(",")}
    unknown = sorted(named - known)
    if unknown:
        words = f"unknown partition {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        return problem("Slurm", words, f"correct partition or gpu_partition in {site_file()}")
    if named:
        return ok("Slurm", f"partition {', '.join(sorted(named))}")
    default = default_partition()
    if default is None:
        fix = f"name one of {', '.join(sorted(known))} as partition in {site_file()}"
        return problem("Slurm", "no partition is named, and the cluster has no default", fix)
    return ok("Slurm", f"partition {default}, the default of the cluster")


def _accounts(settings: Mapping[str, Any], site: Site) -> Finding:
    named, user = _named(settings, "slurm_account", site.account), getpass.getuser()
    words = ("sacctmgr", "--noheader", "--parsable2", "show", "associations", f"user={user}", "format=account")
    mine = set(slurm_lines(*words))
    if not mine:
        found = f"account {', '.join(sorted(named)) or 'not named'}; the cluster does not tell those of {user}"
        return ok("account", found)
    unknown = sorted(name for name in named if name.lower() not in map(str.lower, mine))  # as Slurm compares them
    if unknown:
        found = f"{user} has no account {', '.join(unknown)}, but {', '.join(sorted(mine))}"
        return problem("account", found, f"correct account in {site_file()}")
    if not named and len(mine) > 1:
        return warning("account", f"none is named, and {user} has several: {', '.join(sorted(mine))}",
                       f"name one as account in {site_file()}")  # fmt: skip
    return ok("account", ", ".join(sorted(named or mine)))
