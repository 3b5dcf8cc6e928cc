"""What each stage asks of a cluster, by the size of the models: processors, memory, minutes, GPUs, nodes, processes.

A study names a size and what it wants otherwise; the file of a site (site.py) may be laid over both. None of it is a
parameter of a rule: a job that gets more memory computes the same.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from axenat.records import ConfigError, at_least, build, merge, one_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """What one job asks for."""

    cpus: int = 1  # of each process
    mem_mb: int = 2_000  # of each node; two processes of Snakemake, about 350 MB, are in it
    runtime: int = 60  # minutes
    gpus: int = 0  # of all nodes together
    nodes: int = 1
    tasks: int = 0  # processes of a training; 0: one for each GPU, or one

    def __post_init__(self) -> None:
        for name, low in (("cpus", 1), ("mem_mb", 500), ("runtime", 5), ("gpus", 0), ("nodes", 1), ("tasks", 0)):
            at_least(name, getattr(self, name), low)
        if self.gpus % self.nodes or self.ranks % self.nodes:
            raise ConfigError(
                f"nodes must be alike, got {self.nodes} of them for {self.gpus} gpus and {self.ranks} processes"
            )
        if self.gpus and self.tasks not in (0, self.gpus):
            raise ConfigError(f"tasks must be one for each of the {self.gpus} gpus, or be left out, got {self.tasks}")

    @property
    def ranks(self) -> int:
        return self.tasks or max(1, self.gpus)


# Stages that go on where they were stopped: they are told before their time is up.
RESUMED = ("train", "distil")
# Stages that run a model: with a GPU where models are large.
_LOOKING = ("tune", "translate", "analyse", "speed")
_TEXT = ("download", "clean", "learn_subwords", "encode")
_SHORT = ("average", "gather", "score", "choose", "summarise", "tables", "figures", "report")
STAGES = (*_TEXT, "train", "distil", *_LOOKING, *_SHORT)
# What a teacher's own size decides.
OF_TEACHERS = ("train", "average", "tune", "distil")


def _size(*, text: Ask, train: Ask, distil: Ask, looking: Ask, short: Ask) -> dict[str, Ask]:
    kinds = {**dict.fromkeys(_TEXT, text), **dict.fromkeys(_LOOKING, looking), **dict.fromkeys(_SHORT, short)}
    return {**kinds, "download": replace(text, cpus=1), "train": train, "distil": distil}


SIZES: dict[str, dict[str, Ask]] = {
    # A few million parameters, a CPU.
    "demo": _size(
        text=Ask(cpus=2),
        train=Ask(runtime=120),
        distil=Ask(),
        looking=Ask(),
        short=Ask(),
    ),
    # Transformer base, some million pairs: a node of eight GPUs.
    "base": _size(
        text=Ask(cpus=8, mem_mb=16_000, runtime=240),
        train=Ask(cpus=4, mem_mb=64_000, runtime=1_440, gpus=8),
        distil=Ask(cpus=4, mem_mb=16_000, runtime=720, gpus=1),
        looking=Ask(cpus=4, mem_mb=16_000, runtime=120, gpus=1),
        short=Ask(mem_mb=8_000),
    ),
    # Transformer large: the paper's sixteen GPUs.
    "large": _size(
        text=Ask(cpus=16, mem_mb=32_000, runtime=480),
        train=Ask(cpus=4, mem_mb=64_000, runtime=1_440, gpus=16, nodes=2),
        distil=Ask(cpus=4, mem_mb=32_000, runtime=720, gpus=1),
        looking=Ask(cpus=4, mem_mb=32_000, runtime=240, gpus=1),
        short=Ask(mem_mb=16_000),
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Resources:
    """What every stage asks for; teachers may be of another size than their students."""

    size: str
    teacher: str
    stages: dict[str, Ask]
    of_teachers: dict[str, Ask]

    def ask(self, stage: str, *, teacher: bool = False) -> Ask:
        return (self.of_teachers if teacher and stage in OF_TEACHERS else self.stages)[stage]

    def by_rule(self) -> dict[str, Ask]:
        """Teachers have rules of their own; who distils is always one."""
        teachers = {f"{stage}_teacher": self.of_teachers[stage] for stage in OF_TEACHERS if stage != "distil"}
        return {**self.stages, **teachers, "distil": self.of_teachers["distil"]}


def resources_of(*layers: Any) -> Resources:
    """The keys `size`, `teacher` and the names of stages; later layers are laid over earlier ones."""
    values: dict[str, Any] = {}
    for layer in layers:
        if not isinstance(layer, Mapping):
            raise ConfigError(f"resources must be a mapping of keys, got {layer!r}")
        values = merge(values, {key: _on_one_node(value) for key, value in layer.items()})
    size = values.pop("size", "demo")
    teacher = values.pop("teacher", size)
    for key, value in (("size", size), ("teacher", teacher)):
        one_of(f"resources.{key}", value, tuple(SIZES))
    for stage in values:
        if stage not in STAGES:
            raise ConfigError(f"resources.{stage} is not a known key; allowed are size, teacher, {', '.join(STAGES)}")
    return Resources(
        size=size,
        teacher=teacher,
        stages={stage: _ask(stage, SIZES[size], values) for stage in STAGES},
        of_teachers={stage: _ask(stage, SIZES[teacher], values) for stage in OF_TEACHERS},
    )


def _on_one_node(over: Any) -> Any:
    """GPUs without nodes: what was said of nodes before was counted for another number of GPUs."""
    return {**over, "nodes": 1} if isinstance(over, Mapping) and "gpus" in over and "nodes" not in over else over


def _ask(stage: str, size: Mapping[str, Ask], values: Mapping[str, Any]) -> Ask:
    """Only trainings have several processes."""
    over = values.get(stage) or {}
    where = f"resources.{stage}"
    if not isinstance(over, Mapping):
        raise ConfigError(f"{where} must be a mapping of keys, got {over!r}")
    ask = build(Ask, merge(asdict(size[stage]), over), where)
    if ask.ranks > 1 and stage != "train":
        raise ConfigError(f"{where}: only train has several processes, got gpus {ask.gpus} and tasks {ask.tasks}")
    if ask.nodes > 1 and stage != "train":
        raise ConfigError(f"{where}: only train has several nodes, got nodes {ask.nodes}")
    return ask
