"""One command: help for people, one sentence and exit code 2 for bad input, no traceback."""

import importlib
import io
import logging
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import axenat
from axenat import cli
from axenat.files import UserError


def run(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "axenat.cli", *arguments], capture_output=True, text=True, check=False, **options
    )


def test_help_lists_every_stage_in_the_order_of_the_pipeline(capsys) -> None:
    assert cli.main(["--help"]) == 0
    printed = capsys.readouterr().out
    places = [printed.index(f"\n  {stage} ") for stage in cli.STAGES]
    assert places == sorted(places)
    assert cli.main([]) == 0
    assert capsys.readouterr().out == printed


def test_the_version_is_told(capsys) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"axenat {axenat.__version__}\n"


@pytest.mark.parametrize("stage", cli.STAGES)
def test_every_stage_has_a_module_with_arguments_and_a_description(stage) -> None:
    module = importlib.import_module(f"axenat.stages.{stage}")
    parser = cli._Parser(prog=stage, description=module.__doc__)
    module.add_arguments(parser)
    assert callable(module.main)
    assert module.__doc__


IMPORTED = """
import sys
before = set(sys.modules)
from axenat.cli import main
assert main(sys.argv[1:]) == 0
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_imports_no_stage_and_nothing_but_yaml_so_that_it_answers_at_once(words) -> None:
    """Of packages from elsewhere, torch alone takes seconds."""
    done = subprocess.run([sys.executable, "-c", IMPORTED, *words], capture_output=True, text=True, check=True)
    imported = done.stderr.split()
    others = {name.split(".")[0] for name in imported} - sys.stdlib_module_names
    assert {name for name in others if "cython" not in name} == {"axenat", "yaml"}, "yaml is partly made with Cython"
    assert not [name for name in imported if name.startswith("axenat.stages")]
    assert len([name for name in imported if name.startswith("axenat.")]) <= 10, "what help needs is little"


def test_an_unknown_stage_is_one_sentence_with_those_that_are_known(capsys) -> None:
    assert cli.main(["trane"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("axenat: unknown stage 'trane'; allowed are configure, fetch, download")
    assert message.count("\n") == 1


@pytest.fixture
def stage(monkeypatch):
    """A stage that does what a test wants."""

    def make(action) -> None:
        module = SimpleNamespace(
            __doc__="a stage", add_arguments=lambda parser: parser.add_argument("--x"), main=action
        )
        monkeypatch.setitem(sys.modules, "axenat.stages.score", module)

    return make


def fail_with(error: BaseException):
    def main(args) -> None:
        raise error

    return main


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (UserError("a.txt: no such file"), "axenat score: a.txt: no such file\n"),
        (
            FileNotFoundError(2, "No such file or directory", "b.txt"),
            "axenat score: b.txt: No such file or directory\n",
        ),
        (OSError("the disk is gone"), "axenat score: input/output: the disk is gone\n"),
        (PermissionError(13, "Permission denied", "c.txt"), "axenat score: c.txt: Permission denied\n"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(stage, capsys, error, sentence) -> None:
    stage(fail_with(error))
    assert cli.main(["score"]) == 2
    assert capsys.readouterr().err == sentence


def test_a_stage_tells_first_which_job_of_slurm_it_is(stage, monkeypatch, caplog) -> None:
    stage(lambda args: logging.info("at work"))
    for name, value in (("SLURM_JOB_ID", "17"), ("SLURMD_NODENAME", "n1")):
        monkeypatch.setenv(name, value)
    with caplog.at_level(logging.INFO):
        assert cli.main(["score"]) == 0
    assert caplog.messages == ["job 17 of Slurm, on n1", "at work"]


def test_a_task_of_an_array_is_called_as_its_log_is(stage, monkeypatch, caplog) -> None:
    stage(lambda args: None)
    for name, value in (("SLURM_JOB_ID", "18"), ("SLURM_ARRAY_JOB_ID", "17"), ("SLURM_ARRAY_TASK_ID", "2")):
        monkeypatch.setenv(name, value)
    with caplog.at_level(logging.INFO):
        assert cli.main(["score"]) == 0
    assert caplog.messages[0].startswith("job 17_2 of Slurm")


def test_without_the_modules_of_its_site_a_job_says_so_and_does_nothing(stage, monkeypatch, capsys) -> None:
    stage(lambda args: pytest.fail("it has begun"))
    monkeypatch.setenv("AXENAT_NO_MODULES", "module load cuda failed")
    assert cli.main(["score"]) == 2
    assert (
        capsys.readouterr().err
        == "axenat score: module load cuda failed on this node; correct modules in config/site.yaml\n"
    )


def test_a_mistake_of_ours_keeps_its_traceback(stage) -> None:
    stage(fail_with(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        cli.main(["score"])


def test_output_is_utf8_whatever_the_locale_says(stage, monkeypatch) -> None:
    printed, complained = io.BytesIO(), io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(complained, encoding="latin-1", errors="backslashreplace"))

    def main(args) -> None:
        print("Bücher ☃")
        raise UserError("ü.txt: no such file")

    stage(main)
    assert cli.main(["score"]) == 2
    sys.stderr.flush()
    assert printed.getvalue().decode() == "Bücher ☃\n"
    assert complained.getvalue().decode() == "axenat score: ü.txt: no such file\n"


def test_an_interrupted_stage_ends_like_an_interrupted_program(stage) -> None:
    stage(fail_with(KeyboardInterrupt()))
    assert cli.main(["score"]) == 130


def test_a_stage_that_is_asked_to_stop_leaves_nothing_half_written(tmp_path) -> None:
    """It waits for text from a pipe, with its outputs open."""
    os.mkfifo(tmp_path / "raw")
    (tmp_path / "clean.yaml").write_text("source_language: en\ntarget_language: de\n")
    out = [word for flag in ("out-source", "out-target", "counts") for word in (f"--{flag}", f"out/{flag}")]
    flags = ["--config", "clean.yaml", "--split", "train", "--source", "raw", "--target", "raw", *out]
    process = subprocess.Popen([sys.executable, "-m", "axenat.cli", "clean", *flags], cwd=tmp_path)
    while not (tmp_path / "out").exists() or len(list((tmp_path / "out").iterdir())) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    assert process.wait(20) == 128 + signal.SIGTERM
    assert list((tmp_path / "out").iterdir()) == []


def test_signals_are_as_before_when_a_stage_is_done(stage) -> None:
    before, seen = signal.getsignal(signal.SIGTERM), []
    stage(lambda args: seen.append(signal.getsignal(signal.SIGTERM)))
    assert cli.main(["score"]) == 0
    assert seen != [before] and signal.getsignal(signal.SIGTERM) == before


def test_a_wrong_flag_is_one_sentence_and_exit_code_2(stage, capsys) -> None:
    stage(lambda args: None)
    with pytest.raises(SystemExit) as caught:
        cli.main(["score", "--y", "3"])
    assert caught.value.code == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and "unrecognized arguments: --y 3; see axenat score --help" in message


def test_a_missing_file_is_one_sentence_without_a_traceback(tmp_path) -> None:
    flags = ("shards", "records", "source", "target", "teacher", "out", "manifest")
    others = [word for flag in flags for word in (f"--{flag}", "x")]
    done = run("gather", "--config", "none.yaml", *others, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "axenat gather: none.yaml: no such file\n")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error() -> None:
    """As in `axenat --help | true`."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "axenat.cli", "--help"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 141


@pytest.mark.parametrize("resolved", ["{", "nonsense"])
def test_configure_refuses_what_is_no_json(tmp_path, resolved, capsys) -> None:
    assert cli.main(["configure", "--resolved", resolved, "--out", str(tmp_path / "a.yaml")]) == 2
    assert "--resolved: not valid JSON" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_configure_writes_the_keys_as_yaml(tmp_path) -> None:
    assert cli.main(["configure", "--resolved", '{"a": [1, "ü"]}', "--out", str(tmp_path / "a.yaml")]) == 0
    assert (tmp_path / "a.yaml").read_text(encoding="utf-8") == "a:\n- 1\n- ü\n"
