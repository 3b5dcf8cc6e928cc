"""Has a partition nodes that are large enough? A job that fits on none waits for ever, and says so nowhere."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from axenat.preflight.findings import Finding, ok, problem
from axenat.resources import Ask
from axenat.site import Site, site_file

SECONDS = 20


@dataclass(frozen=True, slots=True)
class Nodes:
    """The largest of a partition, and how many there are."""

    number: int
    cpus: int
    mem_mb: int
    gpus: int
    runtime: int | None  # minutes; None: no limit


def check_nodes(site: Site, asks: Mapping[str, Ask], default: str | None) -> Iterator[Finding]:
    """`asks` by a name that a person knows; those of different jobs that are alike are told once."""
    nodes: dict[str, Nodes | None] = {}
    complaints: dict[str, list[str]] = {}
    for name, ask in asks.items():
        partition = (site.gpu_partition if ask.gpus else None) or site.partition or default
        if partition is None:
            continue
        found = []
        for one in partition.split(","):
            if one not in nodes:
                nodes[one] = nodes_of(one)
            there = nodes[one]
            found.append([f"{complaint} in partition {one}" for complaint in _too_much(ask, there)] if there else [])
        if all(found):  # of several, Slurm takes the first that has room
            for complaint in chain.from_iterable(found):
                complaints.setdefault(complaint, []).append(name)
    for complaint, names in complaints.items():
        yield problem("nodes", f"{', '.join(names)}: {complaint}", f"say otherwise under resources in {site_file()}")
    if not complaints and any(nodes.values()):
        yield ok("nodes", f"every job fits on those of {', '.join(sorted(nodes))}")


def check_features(site: Site, asks: Mapping[str, Ask], default: str | None) -> Iterator[Finding]:
    """Are there nodes with what a constraint names?"""
    wanted = {("constraint", site.constraint, site.partition or default)}
    if any(ask.gpus for ask in asks.values()):
        key = "gpu_constraint" if site.gpu_constraint else "constraint"
        wanted.add((key, getattr(site, key), site.gpu_partition or site.partition or default))
    for key, constraint, partition in sorted(wanted, key=str):
        if not constraint or not partition:
            continue
        words = ("sinfo", "--noheader", "--exact", f"--partition={partition}", "--format=%f")
        lines = slurm_lines(*words)
        known = {name for line in lines for name in line.split(",")} - {"(null)"}
        named = set(re.findall(r"[\w.:+-]+", re.sub(r"\*\d+", "", constraint)))  # without how many nodes
        unknown = sorted(named - known)
        if lines and unknown:
            found = f"no node of partition {partition} has {', '.join(unknown)}; features there are "
            fix = f"correct {key} in {site_file()}"
            yield problem("Slurm", found + (", ".join(sorted(known)) or "none"), fix)


def _too_much(ask: Ask, nodes: Nodes) -> Iterator[str]:
    share = ask.ranks // ask.nodes
    for asked, there, what in (
        (ask.nodes, nodes.number, "nodes"),
        (share * ask.cpus, nodes.cpus, "cores a node"),
        (ask.mem_mb, nodes.mem_mb, "MB a node"),
        (ask.gpus // ask.nodes, nodes.gpus, "GPUs a node"),
        (ask.runtime, nodes.runtime or ask.runtime, "minutes"),
    ):
        if asked > there:
            yield f"{asked} {what} are asked for, at most {there} are there"


def nodes_of(partition: str) -> Nodes | None:
    """None if Slurm does not tell."""
    # Exactly: of nodes that differ, sinfo would tell the least.
    words = ("sinfo", "--noheader", "--exact", f"--partition={partition}", "--format=%D %c %m %G %l")
    rows = [line.split() for line in slurm_lines(*words)]
    rows = [row for row in rows if len(row) == 5]
    if not rows:
        return None
    numbers, cpus, memory, gres, limits = zip(*rows, strict=True)
    runtimes = [minutes_of(limit) for limit in limits]
    return Nodes(
        number=sum(map(_first_number, numbers)),
        cpus=max(map(_first_number, cpus)),
        mem_mb=max(map(_first_number, memory)),
        gpus=max(map(gpus_in, gres)),
        runtime=None if None in runtimes else max(minutes for minutes in runtimes if minutes is not None),
    )


def _first_number(text: str) -> int:
    """`64+`: at least so many."""
    match = re.match(r"\d+", text)
    return int(match[0]) if match else 0


def gpus_in(gres: str) -> int:
    """`gpu:a100:4(S:0-1),ssd:1` -> 4"""
    return sum(int(number) for number in re.findall(r"\bgpu(?::[^:,(]+)?:(\d+)", gres))


def minutes_of(limit: str) -> int | None:
    """`2-00:00:00`, `4:00:00` or `30:00` -> minutes; `infinite` -> None"""
    days, _, rest = limit.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdigit() for part in parts):
        return None
    hours, minutes, _ = ([0] * (3 - len(parts)) + list(map(int, parts)))[:3]
    return 1440 * int(days or 0) + 60 * hours + minutes


def slurm_lines(*command: str) -> list[str]:
    """What a command of Slurm says; nothing if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]
