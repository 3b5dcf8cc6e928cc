"""Blocks of lines are the lines of the files, however they are cut, or are refused in the same words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.data.lines import Block, lines_and_sha256, read_pairs
from axenat.files import UserError, count_lines, iter_lines, read_parallel, sha256_of

texts = st.lists(st.text("aä\r\u2028 \x85\x1c", max_size=4), max_size=7)


def write(path, lines, last_newline=True):
    path.write_bytes("\n".join(lines).encode() + (b"\n" if last_newline and lines else b""))
    return path


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except UserError as error:
        return str(error)


def from_blocks(source, target, size):
    sides: tuple[list[str], list[str]] = ([], [])
    for pair in read_pairs(source, target, size):
        for side, block in zip(sides, pair, strict=True):
            assert block.first == len(side) + 1
            side.extend(block.lines())
    return sides


@given(texts, texts, st.booleans(), st.integers(1, 8))
def test_pairs_in_blocks_are_those_of_the_whole_files_or_refused_alike(
    tmp_path_factory, sources, targets, newline, size
):
    folder = tmp_path_factory.mktemp("text")
    source, target = write(folder / "a", sources, newline), write(folder / "b", targets, newline)
    assert outcome(from_blocks, source, target, size) == outcome(read_parallel, source, target)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_what_is_not_utf8_is_refused_by_file_and_line(tmp_path, size) -> None:
    source = write(tmp_path / "a", ["x\ry"] * 5)
    target = tmp_path / "b"
    target.write_bytes(b"x\ry\nx\n\xe4\nx\n\xff\n")
    refused = outcome(from_blocks, source, target, size)
    assert refused == outcome(list, iter_lines(target)) and "b, line 3" in refused


def test_a_missing_side_is_refused_by_name(tmp_path) -> None:
    path = write(tmp_path / "a", ["x"])
    for source, target in ((path, tmp_path / "none"), (tmp_path / "none", path)):
        with pytest.raises(UserError, match="none: no such file"):
            list(read_pairs(source, target))


def test_no_more_is_read_than_is_asked_for(tmp_path) -> None:
    """Else the memory would not be flat."""
    path = write(tmp_path / "a", ["x" * 1000] * 10_000)
    pairs = read_pairs(path, path, 10)
    assert next(pairs)[1] == Block(str(path), 1, (b"x" * 1000 + b"\n") * 10)
    path.write_text("")  # what was not read yet is gone
    assert sum(len(source.lines()) for source, _ in pairs) < 1_000


@given(
    st.lists(st.sampled_from([b"", b"a", b"\r", "ü".encode(), b"a\r\n", b"x" * (1 << 20)]), max_size=4), st.booleans()
)
def test_lines_and_checksum_are_those_of_two_readings(tmp_path_factory, lines, last_newline) -> None:
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(b"\n".join(lines) + (b"\n" if last_newline else b""))
    assert lines_and_sha256(path) == (count_lines(path), sha256_of(path))


def test_a_missing_file_has_no_lines_and_no_checksum(tmp_path) -> None:
    with pytest.raises(UserError, match="none: no such file"):
        lines_and_sha256(tmp_path / "none")
