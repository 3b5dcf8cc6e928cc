"""The registry for real: MLflow's database, a DVC repository, and the models of runs that were never trained."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
import requests

from axenat.files import UserError, write_json, write_lines
from tests.noted import note
from tests.support.registry import NAME, RUNS, champion, make_run, pin, send, translated, versions


def test_the_same_model_twice_adds_no_version(folder, capsys) -> None:
    assert send(capsys, "first.5") == [f"{NAME} version 1 (first.5, valid BLEU 20.00): champion"]
    assert versions() == {"first.5": 1}


def test_the_alias_moves_to_a_better_model_and_not_to_a_worse_one(folder, capsys) -> None:
    reason = "not the champion, since version 1 (first.5, valid BLEU 20.00) is better"
    assert send(capsys, "worse") == [f"{NAME} version 2 (worse, valid BLEU 19.50): {reason}"]
    assert champion()[0] == 1
    assert send(capsys, "better") == [f"{NAME} version 3 (better, valid BLEU 21.00): champion"]
    assert champion()[0] == 3
    send(capsys, "worse", "first.5")
    assert champion()[0] == 3


def test_a_teacher_is_a_model_of_its_own_and_what_a_grid_passed_over_stays_out(folder, capsys) -> None:
    passed_over = [{"run": run} for run in ("worse", "equal", "better")]
    write_json(
        "results/choices/grid.json", {"group": "grid", "key": "k", "chosen": "better", "candidates": passed_over}
    )
    send(capsys)
    assert versions().keys() == {"first.5", "better"}
    assert (champion()[1]["run"], champion(f"{NAME}-teacher")[1]["run"]) == ("better", "teacher")


def test_only_what_dvc_knows_and_finds_unchanged_can_be_champion(folder, capsys) -> None:
    make_run("best", 30.0, seed=5)
    told = f"{NAME} version 2 (best, valid BLEU 30.00): not the champion, since"
    assert send(capsys, "best") == [f"{told} dvc.lock does not know results/runs/best"]
    pin(*RUNS, "teacher", "best")
    write_lines("results/runs/teacher/decode.yaml", ["changed: by hand"])
    assert send(capsys, "best") == [f"{told} dvc status is not clean (teacher changed)"]
    (folder / "dvc.lock").rename(folder / "aside")
    assert send(capsys, "best") == [f"{told} there is no dvc.lock here that says what it was made from"]
    assert champion()[0] == 1
    (folder / "aside").rename(folder / "dvc.lock")
    make_run("teacher", 90.0, objective="left_to_right")
    assert send(capsys, "best") == [f"{NAME} version 2 (best, valid BLEU 30.00): champion"]
    assert champion()[0] == 2


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

        assert ask(lines).json() == {"predictions": translated(Path("results/runs/first.5"), lines)}
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
    assert "not the champion, since the champion, version 1, was measured on other valid text" in said
    assert champion()[0] == 1


def test_a_run_that_was_trained_again_is_registered_when_it_is_tuned(folder, capsys) -> None:
    """Or the new weights would stand beside a BLEU of the old ones."""
    place = make_run("again", 99.0, seed=7)
    write_json(place / "best.json", {"checkpoints": []})
    note(place / "model.safetensors", place / "best.json")
    note(place / "tuned.json", place / "model.safetensors")
    write_json(place / "best.json", {"checkpoints": [], "fingerprint": "other"})
    (said,) = send(capsys, "again")
    assert said.startswith(f"{place} was trained again since it was tuned; run the study first")


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


def test_a_run_that_is_named_is_registered_although_a_grid_passed_it_over(folder, capsys) -> None:
    candidates = [{"run": run} for run in ("worse", "better")]
    choice = {"group": "grid", "key": "k", "chosen": "better", "candidates": candidates}
    write_json("results/choices/grid.json", choice)
    (said,) = send(capsys, "worse")
    assert said.startswith(f"{NAME} version 2 (worse, valid BLEU 19.50)")
    assert versions().keys() == {"first.5", "worse"}


def test_choices_that_are_named_beside_runs_keep_out_what_they_passed_over(folder, capsys) -> None:
    """As the workflow calls it; other choices in the folder have no say."""
    for chosen, passed_over in (("better", "worse"), ("first.5", "equal")):
        candidates = [{"run": chosen}, {"run": passed_over}]
        choice = {"group": "grid", "key": "k", "chosen": chosen, "candidates": candidates}
        write_json(f"results/choices/{chosen}.json", choice)
    named = "--choices", "results/choices/better.json"
    with pytest.raises(UserError, match="there is nothing to register"):
        send(capsys, "worse", *named)
    send(capsys, "worse", "equal", *named)
    assert versions().keys() == {"first.5", "equal"}
