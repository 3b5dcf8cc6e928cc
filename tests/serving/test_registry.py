"""The registry for real: MLflow's database, a DVC repository, and the models of runs that were never trained.

One database for all tests here, since making its tables takes seconds; they run in their order.
"""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
import requests

from axenat.files import UserError, write_json, write_lines, write_yaml
from axenat.stages import register
from axenat.tracking import Tracker, tracking_uri
from tests import tiny
from tests.noted import note

NAME = "axenat-toy"
COMMIT = "0123abcd" * 5


def make_run(name: str, bleu: float, objective: str = "axe", seed: int = 1) -> Path:
    folder = tiny.run_folder(Path("results/runs") / name, objective, seed=seed)
    key = "length_penalty" if objective == "left_to_right" else "length_multiplier"
    tuned = {"run": name, "key": key, "value": 1.1, "bleu": bleu, "signature": "nrefs:1|tok:13a"}
    write_json(folder / "tuned.json", {**tuned, "candidates": [{"value": 1.1, "bleu": bleu}]})
    write_json(folder / "provenance.json", {"commit": COMMIT, "dirty": False})
    return folder


def dvc(*words: str) -> None:
    subprocess.run(["dvc", *words, "--quiet"], check=True, capture_output=True)


def pin(*runs: str) -> None:
    """As `axenat record` does after a study."""
    stages = {run: {"cmd": "true", "outs": [{f"results/runs/{run}": {"persist": True}}]} for run in runs}
    write_yaml("dvc.yaml", {"stages": {run.replace(".", "_"): stage for run, stage in stages.items()}})
    dvc("commit", "--force")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with data and results under DVC, and a database of its own."""
    folder, before = tmp_path_factory.mktemp("registry"), os.getcwd()
    os.chdir(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("DVC_NO_ANALYTICS", "true")
        subprocess.run(["git", "init", "--quiet"], check=True)
        dvc("init")
        write_lines("data/toy/valid.en", ["a car", "the old man", "today"])
        write_lines("data/toy/valid.de", ["ein Auto", "der alte Mann", "heute"])
        dvc("add", "data")
        yield folder
    os.chdir(before)


def send(capsys, *runs: str) -> list[str]:
    parser = argparse.ArgumentParser()
    register.add_arguments(parser)
    register.main(parser.parse_args(["--runs", *runs] if runs else []))
    return capsys.readouterr().out.splitlines()


def champion(name: str = NAME) -> tuple[int, dict[str, str]]:
    """Number and tags of the version that has the alias."""
    found = Tracker(tracking_uri()).client.get_model_version_by_alias(name, "champion")
    return int(found.version), dict(found.tags)


def versions(name: str = NAME) -> dict[str, int]:
    """Run and number of each."""
    found = Tracker(tracking_uri()).client.search_model_versions(f"name = '{name}'")
    assert len({item.tags["run"] for item in found}) == len(found), "a model is there twice"
    return {item.tags["run"]: int(item.version) for item in found}


def translated(run: Path, lines: list[str]) -> list[str]:
    """By `axenat translate`."""
    command = [sys.executable, "-m", "axenat.cli", "translate", "--model", str(run)]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


def test_a_model_is_registered_with_all_that_tells_what_it_is_and_translates(folder, capsys) -> None:
    made = make_run("first.5", 20.0)
    pin("first.5")
    assert send(capsys) == [f"{NAME} version 1 (first.5, valid BLEU 20.00): champion"]
    _, tags = champion()
    told = {"run": "first.5", "corpus": "toy", "objective": "axe", "commit": COMMIT, "length_multiplier": "1.1"}
    assert told.items() <= tags.items()
    assert float(tags["valid_bleu"]) == 20.0 and tags["data_version"].endswith(".dir")
    assert tags["model_sha256"] == register.candidate(made, Path("data"), None).tags["model_sha256"]

    import mlflow

    mlflow.set_tracking_uri(tracking_uri())
    loaded = mlflow.pyfunc.load_model(f"models:/{NAME}@champion")
    assert loaded.metadata.signature.inputs.to_dict() == [{"type": "string", "required": True}]
    assert loaded.metadata.signature.outputs.to_dict() == [{"type": "string", "required": True}]
    assert list(loaded.input_example) == ["a car", "the old man"]  # of valid
    lines = ["the old man buys a red car .", "", "a car"]
    assert loaded.predict(lines) == translated(made, lines)
    small = mlflow.pyfunc.load_model(f"models:/{NAME}@champion", model_config={"most_lines": 2})
    with pytest.raises(mlflow.MlflowException, match=r"^3 lines, but a request may have 2; send several requests$"):
        small.predict(lines)


def test_the_same_model_twice_adds_no_version(folder, capsys) -> None:
    assert send(capsys, "first.5") == [f"{NAME} version 1 (first.5, valid BLEU 20.00): champion"]
    assert versions() == {"first.5": 1}


def test_the_alias_moves_to_a_better_model_and_not_to_a_worse_one(folder, capsys) -> None:
    make_run("worse", 19.5, seed=2)
    make_run("better", 21.0, seed=3)
    pin("first.5", "worse", "better")
    reason = "not the champion, since version 1 (first.5, valid BLEU 20.00) is better"
    assert send(capsys, "worse") == [f"{NAME} version 2 (worse, valid BLEU 19.50): {reason}"]
    assert champion()[0] == 1
    assert send(capsys, "better") == [f"{NAME} version 3 (better, valid BLEU 21.00): champion"]
    assert champion()[0] == 3
    send(capsys, "worse", "first.5")
    assert champion()[0] == 3


def test_a_teacher_is_a_model_of_its_own_and_what_a_grid_passed_over_stays_out(folder, capsys) -> None:
    make_run("teacher", 90.0, objective="left_to_right")
    make_run("other-delta", 50.0, seed=4)
    write_json(
        "results/choices/grid.json",
        {"group": "grid", "key": "k", "chosen": "better", "candidates": [{"run": "better"}, {"run": "other-delta"}]},
    )
    pin("first.5", "worse", "better", "teacher")
    send(capsys)
    assert versions() == {"first.5": 1, "worse": 2, "better": 3}
    assert (champion()[0], champion(f"{NAME}-teacher")[1]["run"]) == (3, "teacher")


def test_only_what_dvc_knows_and_finds_unchanged_can_be_champion(folder, capsys) -> None:
    best = make_run("best", 30.0, seed=5)
    told = f"{NAME} version 4 (best, valid BLEU 30.00): not the champion, since"
    assert send(capsys, "best") == [f"{told} dvc.lock does not know results/runs/best"]
    pin("first.5", "worse", "better", "teacher", "best")
    write_lines("results/runs/teacher/decode.yaml", ["changed: by hand"])
    assert send(capsys, "best") == [f"{told} dvc status is not clean (teacher changed)"]
    (folder / "dvc.lock").rename(folder / "aside")
    assert send(capsys, "best") == [f"{told} there is no dvc.lock here that says what it was made from"]
    assert champion()[0] == 3
    (folder / "aside").rename(folder / "dvc.lock")
    make_run("teacher", 90.0, objective="left_to_right")
    assert send(capsys, "best") == [f"{NAME} version 4 (best, valid BLEU 30.00): champion"]
    assert best.exists() and champion()[0] == 4


@contextmanager
def served(uri: str) -> Iterator[str]:
    """The address at which `mlflow models serve` answers; it loads the package from beside the model, not from here."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = ["mlflow", "models", "serve", "-m", uri, "--env-manager", "local", "-p", str(port)]
    server = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        for _ in range(600):
            assert server.poll() is None, "the server ended by itself"
            with suppress(requests.ConnectionError):
                requests.get(f"http://127.0.0.1:{port}/ping", timeout=10)
                break
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/invocations"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=60)


@pytest.mark.slow
def test_the_champion_answers_over_http_as_translate_does_and_refuses_in_words(folder) -> None:
    lines = ["the old man buys a red car .", "", "a car", "unseen wörds ☃"]
    with served(f"models:/{NAME}@champion") as address:

        def ask(lines: object) -> requests.Response:
            return requests.post(address, json={"inputs": lines}, timeout=120)

        assert ask(lines).json() == {"predictions": translated(Path("results/runs/best"), lines)}
        with ThreadPoolExecutor(6) as clients:  # at the same time
            answers = list(clients.map(lambda line: ask([line]).json()["predictions"], 3 * lines))
        assert [line for (line,) in answers] == 3 * ask(lines).json()["predictions"]
        for wrong, sentence in (
            (["a"] * 1001, "1001 lines, but a request may have 1000; send several requests"),
            (["x" * 100_001], "100001 characters, but a request may have 100000; send several requests"),
            (["man " * 60], "line 1 has 60 subwords, but the model reads 23; split the line"),
            (["a\nb"], "line 1 holds a line break; send each line as an entry of its own"),
        ):
            assert (ask(wrong).status_code, ask(wrong).json()["message"]) == (400, sentence)
        for wrong, words in (("a car", "Expected list, but got str"), ([1], "Expected type str, but got int")):
            assert ask(wrong).status_code == 400 and words in ask(wrong).json()["message"]
        broken = requests.post(address, data=b"{", headers={"Content-Type": "application/json"}, timeout=120)
        assert broken.status_code == 400 and "valid JSON" in broken.json()["message"]
        assert requests.post(address, json={"lines": lines}, timeout=120).status_code == 400
        assert ask(lines).status_code == 200  # none of this has hurt


def test_other_valid_text_takes_no_ones_place(folder, capsys) -> None:
    write_lines("data/toy/valid.de", ["ein Wagen", "der alte Mann", "heute"])
    make_run("elsewhere", 60.0, seed=6)
    (said,) = send(capsys, "elsewhere")
    assert "not the champion, since the champion, version 4, was measured on other valid text" in said
    assert champion()[0] == 4


def test_a_run_that_was_trained_again_is_registered_when_it_is_tuned(folder, capsys) -> None:
    """Or the new weights would stand beside a BLEU of the old ones."""
    place = make_run("again", 99.0, seed=7)
    write_json(place / "best.json", {"checkpoints": []})
    note(place / "model.safetensors", place / "best.json")
    note(place / "tuned.json", place / "model.safetensors")
    write_json(place / "best.json", {"checkpoints": [], "fingerprint": "other"})
    (said,) = send(capsys, "again")
    assert said.startswith(f"{place} was trained again since it was tuned; run the study first")
    shutil.rmtree(place)


def test_what_cannot_be_registered_is_one_sentence(folder, capsys, monkeypatch) -> None:
    untuned = make_run("untuned", 1.0)
    (untuned / "tuned.json").unlink()
    with pytest.raises(UserError, match=r"untuned/tuned.json: no such file"):
        send(capsys, "untuned")
    shutil.rmtree(untuned)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(UserError, match=r"^MLflow did not take the models \(.*\); register again later$") as caught:
        send(capsys, "first.5")
    assert "secret" not in str(caught.value)
