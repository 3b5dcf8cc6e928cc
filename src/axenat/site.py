"""What only the people of a cluster know: account, partitions, how GPUs are asked for, modules, limits.

config/site.yaml, or the file that AXENAT_SITE names; a cluster with defaults for all of it needs none.
config/site.example.yaml explains every key.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from axenat.files import UserError, read_yaml, require
from axenat.records import ConfigError, at_least, build, one_of
from axenat.resources import RESUMED, Ask, Resources, resources_of

FILE, VARIABLE = "config/site.yaml", "AXENAT_SITE"
REPOSITORY = Path(__file__).parents[2]
NO_MODULES = "AXENAT_NO_MODULES"  # in the environment of a job: why it has none of those that the site asks for
DAY = 1_440  # minutes; no job that is tried again asks for more by itself
# Beside letters and digits, what may reach a command line of Slurm or a shell.
SIGNS = {
    **dict.fromkeys(("account", "qos", "modules"), "._/+-"),
    **dict.fromkeys(("partition", "gpu_partition"), "._/+-,"),  # several: wherever there is room first
    **dict.fromkeys(("constraint", "gpu_constraint"), "._&|*()[],-"),  # they have operators
    "gpu_model": "._",  # as the plugin of Snakemake takes it
}
WARNING_SECONDS = 120  # before the time limit; Slurm may be a minute early


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    account: str | None = None
    partition: str | None = None
    gpu_partition: str | None = None  # for jobs with GPUs; none: the same as the others
    qos: str | None = None
    constraint: str | None = None
    gpu_constraint: str | None = None
    gpus: str = "gpus"  # how they are asked for: --gpus, or --gres=gpu of each node
    gpu_model: str | None = None
    modules: tuple[str, ...] = ()
    most_runtime: int | None = None  # minutes; a job that is tried again asks for more, but not beyond
    most_mem_mb: int | None = None  # of a node
    resources: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        one_of("gpus", self.gpus, ("gpus", "gres"))
        if self.most_runtime is not None:
            at_least("most_runtime", self.most_runtime, 5)
        if self.most_mem_mb is not None:
            at_least("most_mem_mb", self.most_mem_mb, 500)
        for name, signs in SIGNS.items():
            value = getattr(self, name)
            for word in value if isinstance(value, tuple) else (value,):
                if word is not None and not re.fullmatch(f"[A-Za-z0-9{re.escape(signs)}]+", word):
                    raise ConfigError(f"{name} must be of letters, digits and {' '.join(signs)}, got {word!r}")
                if word is not None and "partition" in name and "" in word.split(","):
                    raise ConfigError(f"{name} must have a name on both sides of each comma, got {word!r}")
                if word is not None and any(word.count(left) != word.count(right) for left, right in ("()", "[]")):
                    raise ConfigError(f"{name} must close every bracket that it opens, got {word!r}")

    def over(self, resources: Mapping[str, Any]) -> Resources:
        """Those of a study, which are known to be right, and what this cluster wants otherwise."""
        try:
            asked = resources_of(resources, self.resources)
        except ConfigError as error:
            raise ConfigError(f"{site_file()}: {error}") from None
        stages, of_teachers = (
            {stage: self._within_limits(ask) for stage, ask in asks.items()}
            for asks in (asked.stages, asked.of_teachers)
        )
        return replace(asked, stages=stages, of_teachers=of_teachers)

    def _within_limits(self, ask: Ask) -> Ask:
        """A training that needs more time goes back into the queue."""
        runtime, mem_mb = self.most_runtime or ask.runtime, self.most_mem_mb or ask.mem_mb
        return replace(ask, runtime=min(ask.runtime, runtime), mem_mb=min(ask.mem_mb, mem_mb))

    @property
    def prefix(self) -> str:
        """Shell words before every command of a job: modules, which are often not written for `set -u`."""
        if not self.modules:
            return ""
        loads = " ".join(map(shlex.quote, self.modules))
        found = 'type -t module > /dev/null || source "$MODULESHOME/init/bash" 2> /dev/null'
        # The command refuses to go on without them, since what it says is in its log, which Snakemake shows; what is
        # said before it is not. Without braces, which Snakemake would fill in.
        failed = f"export {NO_MODULES}='module load {loads} failed'"
        lost = f"export {NO_MODULES}='there is no module command, and no $MODULESHOME'"
        return f"set +u; if {found}; then module load {loads} || {failed}; else {lost}; fi; set -u; "


def site_file() -> str:
    """Where a person corrects it."""
    return os.environ.get(VARIABLE) or FILE


def read_site(root: str | Path = REPOSITORY) -> Site:
    """Of the folder where Snakemake works, or else of the repository; Slurm's own defaults without either."""
    named = os.environ.get(VARIABLE)
    if named and not Path(named).is_file():
        raise UserError(
            f"{VARIABLE}={named}: no such file; it must name the settings of your cluster, see docs/cluster.md"
        )
    found = next((path for path in (Path(named or FILE), Path(root) / FILE) if path.exists()), None)
    if found is None:
        return Site()
    values = read_yaml(found)
    if values is None:  # every key is left out
        return Site()
    resources = require(found, values).pop("resources", None) or {}
    if not isinstance(resources, Mapping):
        raise ConfigError(f"{found}.resources must be a mapping of keys, got {resources!r}")
    return replace(build(Site, values, str(found)), resources=dict(resources))


Growing = Callable[..., int]
# Minutes and megabytes that a job can be given in a partition, as far as they are known.
Room = Callable[[str | None], tuple[int | None, int | None]]


def in_snakemake(stage: str, ask: Ask, site: Site, room: Room = lambda partition: (None, None)) -> dict[str, Any]:
    """Resources of a rule as Snakemake and its Slurm plugin name them; memory and time grow with each attempt, but not
    beyond what the site and its partition have: such a job would be refused, or wait for ever."""
    partition = (site.gpu_partition if ask.gpus else None) or site.partition
    asked: dict[str, Any] = {
        "mem_mb": _growing(ask.mem_mb, lambda: (site.most_mem_mb, room(partition)[1])),
        "runtime": _growing(ask.runtime, lambda: (site.most_runtime or DAY, room(partition)[0])),
        "slurm_account": site.account,
        "slurm_partition": partition,
        "constraint": (site.gpu_constraint if ask.gpus else None) or site.constraint,
        "qos": site.qos,
        **(_gpus(ask, site) if ask.gpus else {}),
    }
    if stage == "train":
        asked |= {"nodes": ask.nodes, "tasks": ask.ranks}
    if ask.ranks > 1:
        asked["mpi"] = "srun"  # the plugin leaves it to the command to start its processes
    if stage in RESUMED:
        asked["slurm_extra"] = f"--signal=TERM@{WARNING_SECONDS}"
    return {name: value for name, value in asked.items() if value is not None}


def _gpus(ask: Ask, site: Site) -> dict[str, Any]:
    if site.gpus == "gres":
        kind = f"gpu:{site.gpu_model}" if site.gpu_model else "gpu"
        return {"gres": f"{kind}:{ask.gpus // ask.nodes}", "tasks_per_gpu": 0}
    model = {"gpu_model": site.gpu_model} if site.gpu_model else {}
    return {"gpu": ask.gpus, "tasks_per_gpu": 1, **model}


def _growing(first: int, limits: Callable[[], Iterable[int | None]]) -> Growing:
    """`attempt` is what Snakemake calls it; Slurm is asked for limits only when they matter."""
    return lambda wildcards, attempt: first if attempt == 1 else max(first, within(attempt * first, *limits()))


def within(value: int, *limits: int | None) -> int:
    return min([value, *(limit for limit in limits if limit is not None)])
