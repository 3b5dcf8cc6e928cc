"""Has a partition nodes that are large enough? A job that fits on none waits for ever, and says so nowhere."""

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from axenat.preflight.findings import Finding, ok, problem
from axenat.resources import Ask
from axenat.site import Site, site_file

SECONDS = 20


@dataclass(frozen=True, slots=True)
class Nodes:
    """Some of a partition that are alike."""

    number: int
    cpus: int
    mem_mb: int
    gres: str
    runtime: int | None  # minutes; None: no limit


def check_nodes(site: Site, asks: Mapping[str, Ask], default: str | None) -> Iterator[Finding]:
    """`asks` by a name that a person knows; those of different jobs that are alike are told once."""
    nodes: dict[str, list[Nodes]] = {}
    complaints: dict[str, list[str]] = {}
    for name, ask in asks.items():
        partition = (site.gpu_partition if ask.gpus else None) or site.partition or default
        if partition is None:
            continue
        found = []
        for one in partition.split(","):
            if one not in nodes:
                nodes[one] = nodes_of(one)
            too_much = _too_much(ask, nodes[one], site.gpu_model) if nodes[one] else ()
            found.append([f"{complaint} in partition {one}" for complaint in too_much])
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


def _too_much(ask: Ask, there: Sequence[Nodes], model: str | None) -> Iterator[str]:
    """What no node has; or else, how many have all of it together."""
    gpus, cores = ask.gpus // ask.nodes, ask.ranks // ask.nodes * ask.cpus
    kind = f"GPUs ({model})" if model else "GPUs"
    needs: tuple[tuple[int, str, Callable[[Nodes], int]], ...] = (
        (cores, "cores a node", lambda nodes: nodes.cpus),
        (ask.mem_mb, "MB a node", lambda nodes: nodes.mem_mb),
        (gpus, f"{kind} a node", lambda nodes: gpus_in(nodes.gres, model)),
        (ask.runtime, "minutes", lambda nodes: nodes.runtime or ask.runtime),
    )
    lacking = [(asked, what, most) for asked, what, has in needs if asked > (most := max(map(has, there)))]
    for asked, what, most in lacking:
        yield f"{asked} {what} are asked for, at most {most} are there"
    able = sum(nodes.number for nodes in there if all(asked <= has(nodes) for asked, _, has in needs))
    if not lacking and ask.nodes > able:
        all_of_it = "" if able == sum(nodes.number for nodes in there) else (
            f" that have all of {cores} cores, {ask.mem_mb} MB{f' and {gpus} {kind}' if gpus else ''}"
        )  # fmt: skip
        yield f"{ask.nodes} nodes are asked for, at most {able} are there{all_of_it}"


def nodes_of(partition: str) -> list[Nodes]:
    """Each kind of them; none if Slurm does not tell."""
    # Exactly: of nodes that differ, sinfo would tell the least.
    words = ("sinfo", "--noheader", "--exact", f"--partition={partition}", "--format=%D %c %m %G %l")
    rows = [row for row in (line.split() for line in slurm_lines(*words)) if len(row) == 5]
    return [
        Nodes(_first_number(number), _first_number(cpus), _first_number(mem_mb), gres, minutes_of(limit))
        for number, cpus, mem_mb, gres, limit in rows
    ]


class Limits(NamedTuple):
    """The most that one job can be given; None: no limit, or Slurm does not tell."""

    runtime: int | None = None
    mem_mb: int | None = None


_known: dict[str | None, Limits] = {}


def limits_of(partitions: str | None) -> Limits:
    """Of the largest among them; of the cluster's default, if none is named. Asked for once, unless nobody answers."""
    if partitions not in _known:
        names = partitions.split(",") if partitions else filter(None, [default_partition()])
        there = [nodes for name in names for nodes in nodes_of(name)]
        if not there:
            return Limits()
        runtimes = [nodes.runtime for nodes in there]
        most = None if None in runtimes else max(minutes for minutes in runtimes if minutes is not None)
        _known[partitions] = Limits(most, max(nodes.mem_mb for nodes in there))
    return _known[partitions]


def default_partition() -> str | None:
    """Which sinfo marks."""
    return next((name.rstrip("*") for name in partitions() if name.endswith("*")), None)


def partitions() -> list[str]:
    return slurm_lines("sinfo", "--noheader", "--format=%P")


def _first_number(text: str) -> int:
    """`64+`: at least so many."""
    match = re.match(r"\d+", text)
    return int(match[0]) if match else 0


def gpus_in(gres: str, model: str | None = None) -> int:
    """`gpu:a100:4(S:0-1),ssd:1` -> 4, or only those of a model."""
    found = re.findall(r"\bgpu(?::([^:,(]+))?:(\d+)", gres)
    return sum(int(number) for kind, number in found if model in (None, kind))


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
