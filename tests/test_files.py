"""Files are whole or not there, lines end at a line feed only, and every complaint names its file."""

import errno
import os
import stat
import subprocess
import sys

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from axenat import files
from axenat.files import UserError, alone, told_if_full

LINES = st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=9), max_size=6)


@pytest.mark.parametrize("mode", ["w", "wb"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, mode) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old\n")

    def fail() -> None:
        with files.atomic(path, mode) as stream:
            stream.write("half" if mode == "w" else b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_lines_that_fail_on_the_way_leave_nothing(tmp_path) -> None:
    def lines():
        yield "one"
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        files.write_lines(tmp_path / "new.txt", lines())
    assert os.listdir(tmp_path) == []


def test_the_file_is_not_there_before_it_is_whole(tmp_path) -> None:
    with files.atomic(tmp_path / "deep" / "a.txt") as stream:
        stream.write("x")
        assert not (tmp_path / "deep" / "a.txt").exists()
    assert (tmp_path / "deep" / "a.txt").read_text() == "x"


def test_others_may_read_what_is_written_as_the_umask_says(tmp_path) -> None:
    before = os.umask(0o027)
    try:
        files.write_text(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_the_file_it_leads_to_is_written(tmp_path, exists) -> None:
    link, real = tmp_path / "link", tmp_path / "folder" / "real"
    real.parent.mkdir()
    if exists:
        real.write_text("old")
    link.symlink_to(real)
    files.write_text(link, "new")
    assert link.is_symlink() and real.read_text() == "new"
    assert os.listdir(real.parent) == ["real"]


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write_text(pipe, "Bücher")
        assert os.read(reader, 100).decode() == "Bücher"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_standard_output_is_written_and_not_replaced_even_if_it_is_a_file(tmp_path) -> None:
    code = "from axenat.files import write_text; write_text('/dev/stdout', 'one')"
    with (tmp_path / "a").open("w") as stream:
        before = os.fstat(stream.fileno()).st_ino
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert (tmp_path / "a").read_text() == "one" and (tmp_path / "a").stat().st_ino == before


def test_a_folder_is_not_overwritten(tmp_path) -> None:
    with pytest.raises(IsADirectoryError):
        files.write_text(tmp_path, "x")


@given(LINES)
def test_lines_make_a_round_trip_whatever_they_hold(lines) -> None:
    """Python's own splitlines would cut at form feeds, next lines and others."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        files.write_lines(path, lines)
        assert files.read_lines(path) == lines
        assert path.read_bytes().count(b"\n") == len(lines)


def test_only_a_line_feed_ends_a_line_and_a_return_before_it_goes(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("a\x0bb\x0cc\x85d\u2028e\u2029f\x1cg\rh\r\nnext\nlast".encode())
    assert files.read_lines(path) == ["a\x0bb\x0cc\x85d\u2028e\u2029f\x1cg\rh", "next", "last"]
    path.write_bytes(b"")
    assert files.read_lines(path) == []
    path.write_bytes(b"\n")
    assert files.read_lines(path) == [""]


def test_text_that_is_not_utf8_is_refused_by_file_and_line(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\nf\xe4hrt\n")
    with pytest.raises(UserError, match=r"a\.txt, line 2: not UTF-8 .*convert it first"):
        files.read_lines(path)


@pytest.mark.parametrize(
    "read", [files.read_lines, files.read_text, files.read_json, files.read_yaml, files.read_mapping]
)
def test_a_missing_file_is_refused_by_name(tmp_path, read) -> None:
    with pytest.raises(UserError, match=r"none\.txt: no such file"):
        read(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("read", "content", "sentence"),
    [
        (files.read_json, b"{", "not valid JSON"),
        (files.read_json, b"\xff", "not valid JSON"),
        (files.read_yaml, b"a: [1", "not valid YAML"),
        (files.read_yaml, b"\xff", "not valid YAML"),
        (files.read_mapping, b"- a", "expected keys and values"),
        (files.read_mapping, b"", "expected keys and values"),
        (files.read_record, b"[1]", "expected keys and values"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(tmp_path, read, content, sentence) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(UserError, match=sentence) as caught:
        read(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_without_the_keys_that_its_reader_needs_is_another_file(tmp_path) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"a": {"b": 1}, "c": None})
    for read in (files.read_record, files.read_mapping):
        assert read(path, "a.b", "c") == {"a": {"b": 1}, "c": None}
        for key in ("d", "a.x", "c.x", "a.b.x"):
            with pytest.raises(UserError, match=rf"a\.json: {key} is missing; expected the keys c, {key}"):
                read(path, "c", key)


def test_a_folder_is_no_text_file(tmp_path) -> None:
    with pytest.raises(UserError, match="is a folder, expected a text file"):
        files.read_lines(tmp_path)


def test_both_sides_of_a_corpus_pair_up_or_are_refused(tmp_path) -> None:
    one, two = tmp_path / "a.en", tmp_path / "a.de"
    files.write_lines(one, ["a", "b"])
    files.write_lines(two, ["x", "y"])
    assert files.read_parallel(one, two) == (["a", "b"], ["x", "y"])
    for lines in (["x"], ["x", "y", "z"]):
        files.write_lines(two, lines)
        with pytest.raises(UserError, match=rf"a\.en has 2 lines but .*a\.de has {len(lines)}"):
            files.read_parallel(one, two)
    for path in (one, two):
        files.write_lines(path, [])
    with pytest.raises(UserError, match="are empty; a corpus needs at least one pair"):
        files.read_parallel(one, two)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(json_values)
def test_json_makes_a_round_trip(tmp_path_factory, value) -> None:
    path = tmp_path_factory.getbasetemp() / "round.json"
    files.write_json(path, value)
    assert files.read_json(path) == value


def test_yaml_keeps_order_umlauts_and_lists(tmp_path) -> None:
    value = {"z": "Bücher", "a": [1, 2.5, None], "m": {"k": True}}
    files.write_yaml(tmp_path / "a.yaml", value)
    assert list(files.read_yaml(tmp_path / "a.yaml").items()) == list(value.items())
    assert "Bücher" in (tmp_path / "a.yaml").read_text(encoding="utf-8")


def test_a_key_that_stands_twice_is_refused_and_merged_ones_are_not(tmp_path) -> None:
    (tmp_path / "a.yaml").write_text("x: 1\ny: {k: 1, k: 2}\n")
    with pytest.raises(files.UserError, match=r"a\.yaml: not valid YAML \(k stands here twice.*line 2"):
        files.read_yaml(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_text("a: &a {k: 1}\nb: {<<: *a, k: 2}\nc: {k: 3}\n")
    assert files.read_yaml(tmp_path / "b.yaml") == {"a": {"k": 1}, "b": {"k": 2}, "c": {"k": 3}}
    deeper = "a: &a {k: 1}\nb: {c: &c {<<: *a, k: 2}}\nd: {<<: *c, 1: x, '1': y}\n"
    (tmp_path / "c.yaml").write_text(deeper)
    assert files.read_yaml(tmp_path / "c.yaml") == yaml.safe_load(deeper)


def test_the_sum_of_a_file_is_that_of_sha256sum(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert files.sha256_of(tmp_path / "a") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_lock_is_held_by_one_at_a_time_and_ends_with_its_holder(tmp_path) -> None:
    lock = tmp_path / "folder" / "lock"
    with alone(lock, patience=0):
        words = "lock is held by another process at the same work; wait for it or stop it"
        with pytest.raises(UserError, match=words), alone(lock, patience=0.2):
            pass
    script = f"from axenat.files import alone\nwith alone({str(lock)!r}):\n    print('in', flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "in\n"
    with pytest.raises(UserError), alone(lock, patience=0):
        pass
    holder.kill()
    with alone(lock, patience=5):
        pass
    holder.wait()


def test_a_file_system_without_locks_is_one_sentence(tmp_path, monkeypatch) -> None:
    def flock(*words: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(files.fcntl, "flock", flock)
    for patience in (None, 0):
        words = "lock: this file system has no locks; mount it with them"
        with pytest.raises(UserError, match=words), alone(tmp_path / "lock", patience=patience):
            pass


def test_a_full_disk_is_one_sentence_with_file_and_advice_and_other_errors_pass() -> None:
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        with (
            pytest.raises(UserError, match=f"a.txt: {os.strerror(number)}; make room"),
            told_if_full("a.txt", "make room"),
        ):
            raise OSError(number, os.strerror(number))
    with pytest.raises(PermissionError), told_if_full("a.txt", "make room"):
        raise PermissionError(errno.EACCES, "no")
