"""What Slurm's accounting database tells of the jobs of a workflow, where a cluster has one.

Snakemake names all jobs of a workflow by one id, which its log tells, and their rule in the comment. Many databases
keep no comments; then the name of the log that the profile has sbatch write tells the rule.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from axenat.preflight.nodes import slurm_lines
from axenat.preflight.usage import Used

FIELDS = ("JobID", "Comment", "State", "Elapsed", "TotalCPU", "NTasks", "MaxRSS", "AllocTRES")
# Others ended too soon to tell, or have not ended yet.
ENDED = ("COMPLETED", "TIMEOUT", "OUT_OF_MEMORY")
# Rules that are named otherwise than their stage; each corpus and split is downloaded by a rule of its own.
STAGE_OF_RULE = {
    "clean_references": "score",
    "encode_distilled": "encode",
    "figure": "figures",
    "table": "tables",
    "table_of_speed": "tables",
}
DOWNLOAD = "download_"
UNITS = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}  # in MB, as Slurm counts them


def workflows_of(logs: Path) -> dict[str, str]:
    """The id of each workflow that was sent to Slurm, and its day, from Snakemake's own logs."""
    found = {}
    for path in sorted(logs.glob("*.log")):
        match = re.search(r"^SLURM run ID: (\S+)$", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
        if match:
            found[match[1]] = path.name[: len("2020-04-03")]
    return found


def rules_in_logs(folder: Path) -> dict[str, str]:
    """By the number of the job: rule_<name>/<wildcards>/<job>.log"""
    return {
        path.stem: top.name.removeprefix("rule_") for top in folder.glob("rule_*") for path in top.rglob("*.log")
    }  # fmt: skip


def jobs_in_slurm(workflows: Mapping[str, str], rules: Mapping[str, str], known: Iterable[str]) -> list[Used] | None:
    """None if Slurm does not tell; of rules that are not known, such as groups of several, nothing is said."""
    if not workflows:
        return None
    names, since = ",".join(workflows), min(workflows.values())
    lines = slurm_lines(
        "sacct", "--parsable2", "--noheader", "--units=M", f"--name={names}", f"--starttime={since}",
        f"--format={','.join(FIELDS)}",
    )  # fmt: skip
    return list(_jobs(lines, rules, set(known))) if lines else None


def _jobs(lines: Iterable[str], rules: Mapping[str, str], known: set[str]) -> Iterator[Used]:
    """A job has one line, and one more for each of its steps, which alone tell of memory."""
    jobs: dict[str, dict[str, str]] = {}
    steps: dict[str, list[dict[str, str]]] = {}
    for line in lines:
        fields = line.split("|")
        if len(fields) != len(FIELDS):
            continue
        values = dict(zip(FIELDS, fields, strict=True))
        job, _, step = values["JobID"].partition(".")
        if step:
            steps.setdefault(job, []).append(values)
        else:
            jobs[job] = values
    for job, values in jobs.items():
        rule = stage_of(_rule_in(values["Comment"]) or rules.get(job, ""))
        state = values["State"].split(" ")[0]
        if rule not in known or state not in ENDED:
            continue
        with suppress(ValueError):  # a clock or an amount as no Slurm that we know writes it
            yield _used(rule, values, steps.get(job, []), out_of_memory=state == "OUT_OF_MEMORY")


def _rule_in(comment: str) -> str:
    return comment.partition("_wildcards_")[0].removeprefix("rule_") if comment.startswith("rule_") else ""


def stage_of(rule: str) -> str:
    return DOWNLOAD.rstrip("_") if rule.startswith(DOWNLOAD) else STAGE_OF_RULE.get(rule, rule)


def _used(rule: str, job: Mapping[str, str], steps: Iterable[Mapping[str, str]], *, out_of_memory: bool) -> Used:
    """All steps of a job run at once. One that was out of memory would have used more than it was given."""
    given = job["AllocTRES"]
    nodes = _number(r"\bnode=(\d+)", given) or 1
    memory = sum(megabytes_in(step["MaxRSS"]) * -(-int(step["NTasks"] or 1) // nodes) for step in steps)
    if out_of_memory:
        memory = max(memory, megabytes_in(_text(r"\bmem=([\d.]+[KMGT]?)", given)) / nodes)
    return Used(
        rule=rule, seconds=seconds_in(job["Elapsed"]), cpu_seconds=seconds_in(job["TotalCPU"]),
        mem_mb=memory or None, gpus=_number(r"gres/gpu=(\d+)", given), whole=True,
    )  # fmt: skip


def seconds_in(clock: str) -> float:
    """`1-02:03:04`, `02:03:04` or `03:04.5`"""
    days, _, rest = clock.rpartition("-")
    seconds = 0.0
    for part in rest.split(":"):
        seconds = 60 * seconds + float(part or 0)
    return 86_400 * int(days or 0) + seconds


def megabytes_in(amount: str) -> float:
    """`2000M`, `1.5G`; without a unit they are bytes."""
    if not amount:
        return 0.0
    return float(amount[:-1]) * UNITS[amount[-1]] if amount[-1] in UNITS else float(amount) / 2**20


def _text(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else ""


def _number(pattern: str, text: str) -> int:
    return int(_text(pattern, text) or 0)
