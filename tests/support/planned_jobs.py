"""What a dry run of Snakemake would do, job by job: its files, and the command as a shell would read it."""

import re
import shlex
from dataclasses import dataclass

FIELD = re.compile(r"^    (\w+): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Job:
    rule: str
    wildcards: dict[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    log: str
    threads: int
    resources: dict[str, str]
    command: tuple[str, ...]

    @property
    def stage(self) -> str:
        return self.command[1]

    @property
    def flags(self) -> dict[str, tuple[str, ...]]:
        """Each flag of the command with its values. Where the output goes has the name of the shell's own sign."""
        found: dict[str, list[str]] = {}
        values: list[str] = []
        for word in self.command[2:]:
            name, is_one, value = word.partition("=") if word.startswith("--") else (word, "", "")
            if name.startswith("--") or word in (">", "2>"):
                assert name not in found, f"{self.rule}: {name} stands twice"
                values = found[name] = [value] if is_one else []
            else:
                values.append(word)
        return {name: tuple(words) for name, words in found.items()}

    @property
    def name(self) -> str:
        return f"{self.rule} {self.wildcards}"


def jobs_in(plan: str) -> list[Job]:
    """Of the text that `snakemake -n` prints with commands; without rules that run none."""
    return [_job(block) for block in re.split(r"\n(?=\[)", plan) if "Shell command: axenat" in block]


def _job(block: str) -> Job:
    rule, command = re.search(r"^(?:local)?rule (\S+):$", block, re.M), re.search(r"^Shell command: (.*)", block, re.M)
    assert rule and command, block
    fields = dict(FIELD.findall(block))
    return Job(
        rule=rule[1],
        wildcards=_pairs(fields.get("wildcards", "")),
        inputs=_files(fields.get("input", "")),
        outputs=_files(fields.get("output", "")),
        log=fields["log"],
        threads=int(fields.get("threads", 1)),
        resources=_pairs(fields["resources"]),
        command=tuple(shlex.split(command[1])),
    )


def _files(listed: str) -> tuple[str, ...]:
    return tuple(filter(None, listed.split(", ")))


def _pairs(listed: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in _files(listed))
