"""Whatever the tracking store does, a study can run; what is wrong with it is told."""

import os
import sqlite3
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from axenat.preflight.store import check_store


@pytest.fixture
def answering(monkeypatch):
    """A server with one answer to everything, as MLflow's address."""
    servers = []

    def make(status: int) -> list[str | None]:
        asked: list[str | None] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.headers.get("Authorization"))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *words) -> None:
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        port = servers[-1].server_address[1]
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://someone:secret@127.0.0.1:{port}")
        return asked

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "level", "words"),
    [(200, "ok", "answers"), (404, "ok", "answers"), (403, "warning", "refuses us"), (502, "warning", "status 502")],
)
def test_a_server_is_judged_by_its_answer_and_its_password_stays_untold(answering, status, level, words) -> None:
    answering(status)
    found = check_store(on_cluster=False)
    assert found.level == level and words in found.words
    assert "secret" not in found.words + found.fix


def test_credentials_come_from_the_environment(answering, monkeypatch) -> None:
    asked = answering(200)
    port = os.environ["MLFLOW_TRACKING_URI"].rpartition(":")[2]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "abc")
    check_store(on_cluster=False)
    assert asked == ["Bearer abc"]


def test_a_server_that_is_away_is_a_warning(monkeypatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    found = check_store(on_cluster=False)
    assert found.level == "warning" and "does not answer (ConnectionError)" in found.words
    assert "axenat publish" in found.fix


def test_a_database_answers_is_to_come_or_is_none(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mlflow.db"
    assert check_store(on_cluster=False).words == f"{path} will be made"
    path.write_bytes(b"no database at all, but long enough to be looked at" * 20)
    found = check_store(on_cluster=False)
    assert found.level == "warning" and "is damaged" in found.words and "move it away" in found.fix
    path.unlink()
    path.mkdir()
    assert check_store(on_cluster=False).words == f"{path} is no file"
    path.rmdir()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table runs (id)")
        connection.execute("insert into runs values (1)")
        lacking = "lacks tables of MLflow (alembic_version, experiments, registered_models)"
        connection.commit()
        assert check_store(on_cluster=False).words == f"{path} {lacking}"
        for table in ("alembic_version", "experiments", "registered_models"):
            connection.execute(f"create table {table} (id)")
    assert check_store(on_cluster=False).words == f"{path} answers, 1 runs"
    assert check_store(on_cluster=True).level == "warning"  # one file, several machines
