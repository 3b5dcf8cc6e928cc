"""`axenat check` as people use it: a list, exit code 0 or 2, and nothing heavy on the way."""

import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from snakemake.settings.types import ConfigSettings

from axenat.config import ModelConfig
from axenat.files import UserError, write_yaml
from axenat.preflight import machine, space
from axenat.stages.check import read_study
from axenat.study import parse_study
from tests.studies import study

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "numpy", "pandas", "mlflow")


def check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own that tells at its end what it had imported."""
    code = (
        "import atexit, sys; from axenat.cli import main;"
        f"atexit.register(lambda: print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr));"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "check", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_demo_can_run_and_nothing_heavy_or_lasting_comes_of_asking(tmp_path) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    done = check(tmp_path)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    lines = done.stdout.splitlines()
    assert "study demo: 1 corpus, 9 runs" in lines[0] and "train 9" in lines[1]
    assert lines[-1].startswith("The study can run")
    assert [path.name for path in tmp_path.iterdir()] == ["config"]


def test_a_problem_is_exit_code_2_with_its_name_and_what_to_do(tmp_path) -> None:
    write_yaml(tmp_path / "mine.yaml", study())
    done = check(tmp_path, "--configfile", "mine.yaml")
    assert done.returncode == 2
    assert "\n                      -> put them into texts" in done.stdout
    assert done.stderr.splitlines()[0] == "axenat check: the study cannot run yet: corpus own"


def test_a_wrong_configuration_is_one_sentence(tmp_path) -> None:
    write_yaml(tmp_path / "mine.yaml", study(runs__ce__colour="red"))
    done = check(tmp_path, "--configfile", "mine.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("axenat check: runs.ce.colour is not a known key; allowed are")


def test_files_are_laid_over_one_another_as_the_workflow_does(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    write_yaml(tmp_path / "delta.yaml", {"runs": {"axe-distilled": {"objective": {"skip_target_penalty": 3}}}})
    changed = read_study([tmp_path / "delta.yaml"])
    assert changed.runs["axe-distilled"].objective.skip_target_penalty == 3
    assert changed.runs.keys() == read_study([]).runs.keys()
    assert read_study([Path("config/tiny.yaml"), tmp_path / "delta.yaml"]).name == "tiny"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"config/config\.yaml: no such file"):
        read_study([])


def test_room_on_the_disk_is_held_against_what_is_needed(tmp_path, monkeypatch) -> None:
    known = parse_study(study())
    usage = namedtuple("usage", "free")
    levels = []
    need = space.space_of(known, {"own": 0})
    for free in (need.least - 1, need.least, need.most - 1, need.most):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder, free=free: usage(free))
        levels.append(space.check_space(known, tmp_path).level)
    assert levels == ["problem", "warning", "warning", "ok"]
    (tmp_path / "results").mkdir()
    (tmp_path / "results/model").write_bytes(b"x" * 1000)  # what is there is not needed again
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(need.most - 1000))
    assert space.check_space(known, tmp_path).level == "ok"


def test_large_models_ask_for_a_gpu_that_torch_can_use(monkeypatch) -> None:
    large = ModelConfig()
    known = parse_study(study(recipes__small__model={"width": large.width, "heads": large.heads}))
    found = {one.about: one for one in machine.check_machine(known, elsewhere=False)}
    if not machine._seen_by_driver():
        assert found["GPUs"].level == "warning"
    monkeypatch.setattr(machine, "_seen_by_driver", lambda: ["Tesla, 16 GiB"])  # no GPU can be had in every test
    for build, level in (("2.13.0", "ok"), ("2.13.0+cpu", "warning")):
        monkeypatch.setattr(machine, "_torch", lambda build=build: build)
        assert machine._gpus(10).level == level
    assert "GPUs" not in {one.about for one in machine.check_machine(known, elsewhere=True)}


@pytest.mark.parametrize("names", [("study", "three", "four"), ("study", "four", "three"), ("three", "study", "note")])
def test_of_several_files_the_last_one_wins_as_for_snakemake(tmp_path, names) -> None:
    def axe(delta: float) -> dict[str, object]:
        return {"recipe": "small", "objective": {"name": "axe", "skip_target_penalty": delta}}

    files = {
        "study": study(runs__axe=axe(9)),
        "three": {"note": "three", "runs": {"axe": axe(3), "more": axe(2)}},
        "four": {"runs": {"axe": axe(4)}},
        "note": {"note": "the last"},
    }
    for name in names:
        write_yaml(tmp_path / name, files[name])
    paths = [tmp_path / name for name in names]
    found, theirs = read_study(paths), parse_study(ConfigSettings(configfiles=paths).overwrite_config)
    assert found == theirs
    last = {"four": 4, "three": 3, "note": 9}[names[-1]]
    assert found.runs["axe"].objective.skip_target_penalty == last
    assert found.runs["more"].objective.skip_target_penalty == 2, "whatever the others do not name stays"
    assert found.note == ("the last" if names[-1] == "note" else "three")
