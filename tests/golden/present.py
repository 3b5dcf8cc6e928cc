"""What is there today: the records of a checkout, made by its public commands alone.

A record has a name, "tiny: job train run=teacher", and a text. The commands of axenat are called in this process, which
must have imported them from the checkout.
"""

import contextlib
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import yaml

import axenat
from axenat.cli import main
from tests.golden import plan
from tests.golden.store import IN_FULL

ROOT = Path(__file__).parents[2]
VERSIONS = "workflow/stage_versions.yaml"


def check_code(tree: Path) -> None:
    """The code of another checkout would be looked at without a word."""
    if tree.resolve() not in Path(axenat.__file__).resolve().parents:
        raise SystemExit(f"golden: axenat is that of {axenat.__file__}; set PYTHONPATH={tree / 'src'}")


def studies(tree: Path = ROOT) -> dict[str, Path]:
    """The configurations that name a study; others are laid over one, or are no configuration."""
    found = {
        path: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((tree / "config").glob("*.yaml"))
    }
    return {values["study"]: path for path, values in found.items() if "study" in (values or {})}


def study_records(study: str, tree: Path = ROOT) -> dict[str, str]:
    """Resolved configurations, jobs, and stages of DVC."""
    check_code(tree)
    config = studies(tree)[study].relative_to(tree)
    values = yaml.safe_load((tree / config).read_text(encoding="utf-8"))
    with TemporaryDirectory() as name:
        folder = plan.workplace(tree, Path(name))
        planned = plan.dry_run(tree, folder, str(config), values)
        files = _written(plan.resolved(planned), folder)
        described = _described(folder / config, folder / "described.yaml")
    jobs = plan.job_entries(planned) if study in IN_FULL else plan.grouped(planned)
    dvc = dvc_stages(described) if config.name == "config.yaml" else dvc_parts(described)
    rest = {"rules": plan.rules(planned), **jobs, **dvc}
    return {f"{study}: {item}": text for item, text in {**files, **rest}.items()}


def _written(keys: dict[str, str], folder: Path) -> dict[str, str]:
    for path, resolved in keys.items():
        said(["configure", "--resolved", resolved, "--out", str(folder / path)])
    return {f"file {path}": (folder / path).read_text(encoding="utf-8") for path in sorted(keys)}


def _described(config: Path, out: Path) -> str:
    said(["describe", "--config", str(config), "--out", str(out)])
    return out.read_text(encoding="utf-8")


def dvc_stages(text: str) -> dict[str, str]:
    """Each stage as it stands in dvc.yaml, but for where the long line of a command is broken."""
    head, *rest = re.split(r"^  (?=\w+:$)", text, flags=re.MULTILINE)
    stages = {f"dvc stage {stage.partition(':')[0]}": _unwrapped(stage) for stage in rest}
    return {"dvc head": head, **stages}


def _unwrapped(stage: str) -> str:
    """One word of a command a line."""
    broken = re.compile(r"^( *)cmd: (.*(?:\n\1 +(?!- ).*)*)$", re.MULTILINE)
    return broken.sub(lambda found: f"\n{found[1]}  ".join([f"{found[1]}cmd:", *found[2].split()]), stage)


def dvc_parts(text: str) -> dict[str, str]:
    """What no new run changes: the pattern of each stage, and what a run or corpus fills in there."""
    patterns, filled = {}, defaultdict(dict)
    for name, stage in yaml.safe_load(text)["stages"].items():
        if "foreach" in stage:
            patterns[f"dvc pattern {name}"] = _json(stage["do"])
            for key, entry in _entries(stage["foreach"]):
                filled[f"dvc entries of {entry.get('run', key)}"][f"{name}@{key}"] = entry
    return {**patterns, **{item: _json(entries) for item, entries in filled.items()}}


def _entries(foreach: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((key, {}) for key in foreach) if isinstance(foreach, list) else iter(foreach.items())


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True) + "\n"


def house_records(tree: Path = ROOT) -> dict[str, str]:
    """The commands with their options, and the versions of the stages."""
    check_code(tree)
    first = said(["--help"])
    stages = re.findall(r"^ +(\w+)  ", first, re.MULTILINE)
    shown = {"axenat": first, **{stage: said([stage, "--help"]) for stage in stages}}
    versions = yaml.safe_load((tree / VERSIONS).read_text(encoding="utf-8"))
    return {
        **{f"house: help of {name}": option_lines(text) for name, text in shown.items()},
        "house: stage versions": "".join(f"{stage}: {number}\n" for stage, number in versions.items()),
    }


def said(words: list[str]) -> str:
    """What `axenat` prints, in lines that are as long as they like."""
    with mock.patch.dict(os.environ, COLUMNS="10000"), contextlib.redirect_stdout(io.StringIO()) as stream:
        try:
            code: Any = main(words)
        except SystemExit as end:  # argparse has shown its help
            code = end.code
    if code:
        raise SystemExit(f"golden: axenat {' '.join(words)[:200]} has ended with {code}")
    return stream.getvalue()


def option_lines(text: str) -> str:
    """A line for each option of the usage, and nothing of how the columns are aligned."""
    usage, rest = text.split("\n\n", 1)
    lines = [*re.split(r" (?=\[?--?\w)", usage), *(line for line in rest.splitlines() if line)]
    return "".join(f"{' '.join(line.split())}\n" for line in lines)
