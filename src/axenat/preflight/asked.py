"""What a study will ask of a cluster: how many jobs, of which size, and how much that is together at most."""

from collections.abc import Iterator

from axenat.jobs import jobs_of
from axenat.preflight.findings import Finding, ok
from axenat.progress import in_bytes
from axenat.resources import OF_TEACHERS, Ask, Resources
from axenat.study import Study

HERE = ("fetch",)  # local rules: they ask for nothing


def check_asked(study: Study, resources: Resources) -> Iterator[Finding]:
    """Jobs that ask for the same are told together; hours are limits, which most jobs stay far below."""
    alike: dict[Ask, dict[str, int]] = {}
    for rule, number in jobs_by_rule(study).items():
        if number:
            alike.setdefault(resources.by_rule()[rule], {})[rule] = number
    for ask, rules in alike.items():
        listed = ", ".join(f"{rule} {number}" for rule, number in rules.items())
        yield ok("asked for", f"{in_words(ask)}: {listed}")
    minutes = {ask: ask.runtime * sum(rules.values()) for ask, rules in alike.items()}
    cpus = sum(ask.cpus * ask.ranks * number for ask, number in minutes.items())
    gpus = sum(ask.gpus * number for ask, number in minutes.items())
    hours = " and ".join(f"{total / 60:,.0f} {kind}-hours" for kind, total in (("CPU", cpus), ("GPU", gpus)) if total)
    yield ok("at most", f"{hours}, if every job took all of its time; the last line tells what they are likely to take")


def jobs_by_rule(study: Study) -> dict[str, int]:
    jobs, teachers = (
        {stage: number for stage, number in jobs_of(study).items() if stage not in HERE},
        len(study.teachers),
    )
    for stage in OF_TEACHERS:
        if stage != "distil":
            jobs[f"{stage}_teacher"] = teachers
            jobs[stage] -= teachers
    return jobs


def in_words(ask: Ask) -> str:
    cores = f"{ask.cpus} core{'s' if ask.cpus > 1 else ''}"
    memory, time = in_bytes(ask.mem_mb * 1_000_000), _hours(ask.runtime)
    if ask.ranks == 1:
        return f"{'1 GPU, ' if ask.gpus else ''}{cores}, {memory}, {time}"
    devices = f"{ask.gpus} GPUs" if ask.gpus else f"{ask.ranks} processes"
    nodes = f" on {ask.nodes} nodes" if ask.nodes > 1 else ""
    return f"{devices}{nodes}, {cores} each, {memory} a node, {time}"


def _hours(minutes: int) -> str:
    return f"{minutes / 60:g} h" if minutes % 30 == 0 else f"{minutes} min"
