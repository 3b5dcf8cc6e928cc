"""The tiny study of one commit, finished on this machine, and that of today next to it.

Processors differ in the last bits of weights, so numbers of trained models are compared on one machine. The record is a
folder that git ignores, with the whole study in it.
"""

import csv
import io
import json
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.golden import plan
from tests.golden.facts import lacking
from tests.golden.finished import md5, outs
from tests.support.planned_jobs import FIELD

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".golden"
TINY = ("all", "--configfile", "config/tiny.yaml")
STUDY, PRESENT, ABOUT, SUMS = "study", "present", "about.json", "md5sums.txt"
# Made once for all runs, so that new runs change them; no more than seconds of work.
OF_THE_STUDY = ("choose", "speed", "summarise", "table", "table_of_speed", "figure", "report", "all")


def checkout(commit: str, folder: Path) -> Path:
    """The files of a commit, without its history."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder


def record(commit: str, folder: Path) -> None:
    """Run the tiny study with the code of a commit; an earlier record is replaced."""
    name = subprocess.run(["git", "rev-parse", commit], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    shutil.rmtree(folder / STUDY, ignore_errors=True)
    with TemporaryDirectory() as tree:
        _finish(checkout(commit, Path(tree)), folder / STUDY)
    sums = {path: md5(folder / STUDY / path) for path in outs(folder / STUDY)}
    (folder / SUMS).write_text("".join(f"{digest}  {path}\n" for path, digest in sums.items()), encoding="utf-8")
    (folder / ABOUT).write_text(json.dumps({"commit": name.strip(), **_machine()}, indent=2) + "\n", encoding="utf-8")
    print(f"golden: {len(sums)} outs of {name[:10]} in {folder / STUDY}, their checksums in {folder / SUMS}")


def compare(folder: Path, present: Path | None = None) -> bool:
    """Run the tiny study with the code of today, or take one that has; whether nothing is lost of what was recorded."""
    if not (folder / ABOUT).exists():
        raise SystemExit(f"golden: no record in {folder}; make one: python -m tests.golden --record --at COMMIT")
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    if (here := _machine()) != {key: about[key] for key in here}:
        print(f"golden: recorded on another machine or with another torch, {about}; last bits may differ")
    made_again = sorted(stale(folder / STUDY))
    for sentence in made_again:
        print(f"made again: {sentence}")
    if present is None:
        present = folder / PRESENT
        shutil.rmtree(present, ignore_errors=True)
        _finish(ROOT, present)
    kinds = kinds_of_outs(folder, present)
    for path, kind in sorted(kinds.items()):
        if kind != "same":
            print(f"{kind:7}  {path}")
    counts = ", ".join(f"{number} {kind}" for kind, number in sorted(Counter(kinds.values()).items()))
    print(f"golden: outs of the tiny study next to those of {about['commit'][:10]}: {counts}")
    if "changed" in kinds.values():
        print(f"golden: to see how: diff -r {folder / STUDY / 'results'} {present / 'results'}")
    return not made_again and not {"changed", "gone"} & set(kinds.values())


def kinds_of_outs(folder: Path, present: Path) -> dict[str, str]:
    """Of each out whether it is the same, grown, changed, gone or new."""
    lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    recorded = {path: digest for digest, path in (line.split("  ", 1) for line in lines)}
    kinds = {path: _kind(folder / STUDY / path, present / path, digest) for path, digest in recorded.items()}
    return {**dict.fromkeys(outs(present), "new"), **kinds}


def _finish(tree: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    plan.workplace(tree, folder)
    asked = [sys.executable, "-c", "import axenat; print(axenat.__file__)"]
    found = subprocess.run(asked, cwd=folder, env=plan.environment(tree), capture_output=True, text=True).stdout
    if tree.resolve() not in Path(found.strip()).resolve().parents:
        raise SystemExit(f"golden: axenat would be that of {found.strip()} instead of {tree}")
    print(f"golden: the tiny study in {folder}, one or two minutes", flush=True)
    done = _snakemake(tree, folder, "--cores", "2", *TINY)
    if done.returncode:
        raise SystemExit(f"golden: the tiny study has failed: {done.stdout[-3000:]}{done.stderr[-3000:]}")


def _snakemake(tree: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = plan.environment(tree)
    return subprocess.run(["snakemake", *words], cwd=folder, env=environment, capture_output=True, text=True)


def _machine() -> dict[str, str]:
    import torch

    names = re.findall(r"^model name\s*: (.*)$", _text(Path("/proc/cpuinfo")), re.MULTILINE)
    return {"processor": names[0] if names else platform.processor(), "torch": torch.__version__}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def stale(study: Path, tree: Path = ROOT) -> Iterator[str]:
    """Jobs that the code of today would run again on results that were recorded, but for those of the whole study."""
    with TemporaryDirectory() as name:
        folder = Path(name) / "study"
        shutil.copytree(study, folder, symlinks=True)
        for part in ("workflow", "config"):
            shutil.rmtree(folder / part)
        done = _snakemake(tree, plan.workplace(tree, folder), "-n", "--cores", "2", *TINY)
    if done.returncode:
        raise SystemExit(f"golden: no plan for the recorded results: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    for block in re.split(r"\n(?=\[)", done.stdout):
        rule, fields = plan.RULE.search(block), dict(FIELD.findall(block))
        files = fields.get("output", "").split(", ")
        if rule and rule[1] not in OF_THE_STUDY and any((study / path).is_file() for path in files):
            yield f"{rule[1]} {fields.get('wildcards', '')}: {fields.get('reason', '')}"


def _kind(before: Path, now: Path, digest: str) -> str:
    if not now.exists():
        return "gone"
    if md5(now) == digest:
        return "same"
    return "grown" if has_grown(before, now) else "changed"


def has_grown(before: Path, now: Path) -> bool:
    """All that was said is still said: values of JSON, rows and columns of CSV, lines of other text."""
    try:
        old, new = before.read_text(encoding="utf-8"), now.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    if before.suffix == ".json":
        return is_within(json.loads(old), json.loads(new))
    if before.suffix == ".csv":
        return is_within(*(list(csv.DictReader(io.StringIO(text))) for text in (old, new)))
    if before.suffix in (".md", ".tex", ".txt") and "/tables/" in before.as_posix():
        return not lacking(*([" ".join(line.split()) for line in text.splitlines()] for text in (old, new)))
    return False


def is_within(old: Any, new: Any) -> bool:
    """Keys and entries may be new; what there was has its value and its order."""
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and is_within(value, new[key]) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        rest = iter(new)
        return all(any(is_within(one, other) for other in rest) for one in old)
    return type(old) is type(new) and old == new
