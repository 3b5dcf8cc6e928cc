"""Where corpora, teachers and sides differ, too, a stage of DVC depends on what its own jobs read and on no more."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from axenat.dvc_stages import text_of
from tests.support import two_corpora
from tests.support.planned_jobs import Job, jobs_in

# What no two machines agree on belongs to no stage.
APART = re.compile(r"results/speed/.*|results/runs/[^/]+/provenance\.json")


@pytest.fixture(scope="module")
def jobs(new_workshop, tmp_path_factory) -> list[Job]:
    workshop = new_workshop(tmp_path_factory.mktemp("dvc-two"))
    (workshop.folder / "texts").mkdir()
    for name in two_corpora.own_files():
        (workshop.folder / name).write_text("a\n")
    (workshop.folder / "two.yaml").write_text(two_corpora.STUDY)
    done = workshop.snakemake("-n", "all", "--configfile", "two.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    return jobs_in(done.stdout)


def expanded(stages: dict[str, Any]) -> dict[str, tuple[set[str], set[str]]]:
    """The deps and outs of each stage, once for each of its items."""
    found = {}
    for name, stage in stages.items():
        items = stage.get("foreach", {"": {}})
        for key in items:
            given = items[key] if isinstance(items, dict) else key
            values = {f"item.{part}": value for part, value in given.items()} if isinstance(given, dict) else {}
            text = yaml.safe_dump(stage.get("do", stage))
            for variable, value in {**values, "key": key, "item": given}.items():
                text = text.replace(f"${{{variable}}}", str(value))
            body = yaml.safe_load(text)
            outs = {path for kind in ("outs", "metrics", "plots") for out in body.get(kind, []) for path in out}
            found[f"{name}@{key}"] = (set(body.get("deps", [])), outs)
    return found


def place(path: str, places: set[str]) -> str:
    """The place that is this file or a folder around it, or else the file."""
    return next((str(one) for one in (path, *Path(path).parents) if str(one) in places), path)


def test_each_stage_depends_on_what_its_own_jobs_read(jobs) -> None:
    stages = expanded(yaml.safe_load(text_of(yaml.safe_load(two_corpora.STUDY)))["stages"])
    for name, (deps, outs) in stages.items():
        own = [job for job in jobs if any(place(path, outs) in outs for path in job.outputs)]
        assert own, name
        made = {path for job in own for path in job.outputs}
        read = {path for job in own for path in job.inputs if not APART.fullmatch(path)} - made
        if name.startswith("clean@"):  # with the jobs that write raw text, of all corpora
            read = {path for path in read if not path.startswith("data/")} | {"data", "texts"}
            read |= {path for path in deps if "/config/download-" in path and f"/{name[6:]}/" in path}
        assert {place(path, deps) for path in read} == deps, name
    assert {"clean@one", "tune@ce-two", "distil@two", "train_from@axe-two-delta3", "choose@"} <= stages.keys()
