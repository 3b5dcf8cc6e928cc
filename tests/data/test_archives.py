"""Out of an archive come the files asked for, in order, byte for byte; or one sentence, and the folder is as it was."""

import gzip
import io
import os
import random
import resource
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from axenat.data import archives, members
from axenat.data.archives import extract, extract_each
from axenat.files import UserError

FILES = {
    "corpus/Book1_en.txt": b"one\n",
    "corpus/Book10_en.txt": b"ten\n",
    "corpus/Book2_en.txt": b"two\n",
    "corpus/Book2_cn.txt": b"er\n",
    "corpus/deep/Book3_en.txt": b"three\n" * 1000,
    "README": b"",
}
FORMS = ("tar", "tgz", "zip")


def add(archive: tarfile.TarFile, name: str, content: bytes = b"", **changes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for key, value in changes.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(content))


def pack(path: Path, form: str, files) -> Path:
    """`files` is a mapping, or pairs if a name is there twice."""
    pairs = list(files.items()) if isinstance(files, dict) else files
    if form == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in pairs:
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    else:
        with tarfile.open(path, "w:gz" if form == "tgz" else "w") as archive:
            for name, content in pairs:
                add(archive, name, content)
    return path


@pytest.fixture(params=FORMS)
def form(request) -> str:
    return request.param


@pytest.fixture
def into(tmp_path) -> Path:
    return tmp_path / "out" / "files"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(path: Path, patterns, into: Path, sentence: str) -> None:
    """In one sentence that begins with the archive, and without a trace in the folder or beside it."""
    before = contents(into.parent)
    with pytest.raises(UserError, match=sentence) as caught:
        extract(path, patterns, into)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)
    assert contents(into.parent) == before
    assert not into.parent.exists() or not [name for name in os.listdir(into.parent) if name.endswith(".tmp")]


def test_only_what_matches_is_unpacked_in_natural_order_and_a_star_stays_in_its_folder(tmp_path, into, form) -> None:
    path = pack(tmp_path / "a", form, FILES)
    names = ["corpus/Book1_en.txt", "corpus/Book2_en.txt", "corpus/Book10_en.txt"]
    assert extract(path, ["corpus/Book*_en.txt"], into) == [into / name for name in names]
    assert contents(into) == {name: FILES[name] for name in names}


def test_patterns_come_in_the_order_they_are_given_and_a_member_comes_once(tmp_path, into, form) -> None:
    path = pack(tmp_path / "a", form, FILES)
    names = ["corpus/deep/Book3_en.txt", "corpus/Book2_cn.txt", "corpus/Book2_en.txt"]
    patterns = ["corpus/deep/*", "corpus/Book2*", "*/Book2_en.txt"]
    assert extract(path, patterns, into) == [into / name for name in names]
    assert contents(into) == {name: FILES[name] for name in names}


def test_case_counts_and_a_name_with_brackets_is_itself(tmp_path, into, form) -> None:
    path = pack(tmp_path / "a", form, {"a[1].txt": b"1", "A[1].txt": b"2", "./b//c.txt": b"3"})
    assert extract(path, ["a[1].txt", "b/c.txt"], into) == [into / "a[1].txt", into / "b/c.txt"]
    assert contents(into) == {"a[1].txt": b"1", "b/c.txt": b"3"}


def test_folders_that_match_are_not_files(tmp_path, into) -> None:
    with tarfile.open(tmp_path / "a", "w:gz") as archive:
        add(archive, "./", type=tarfile.DIRTYPE)
        add(archive, "./x", type=tarfile.DIRTYPE)
        add(archive, "./x/a", b"1")
    assert extract(tmp_path / "a", ["x/*"], into) == [into / "x/a"]
    refused(tmp_path / "a", ["*"], into, r"has no member \*; there is x/a")


def test_a_folder_that_has_files_keeps_them(tmp_path, into, form) -> None:
    path = pack(tmp_path / "a", form, FILES)
    extract(path, ["README"], into)
    extract(path, ["corpus/Book1_en.txt"], into)
    assert contents(into) == {name: FILES[name] for name in ("README", "corpus/Book1_en.txt")}
    refused(path, ["README", "none"], into, "has no member none")


def test_others_may_read_what_is_unpacked_and_no_rights_come_from_the_archive(tmp_path, into) -> None:
    with tarfile.open(tmp_path / "a", "w") as archive:
        add(archive, "a", b"1", mode=0o4777, uid=12345)
    before = os.umask(0o022)
    try:
        (path,) = extract(tmp_path / "a", ["a"], into)
    finally:
        os.umask(before)
    assert (path.stat().st_mode & 0o7777, into.stat().st_mode & 0o777) == (0o644, 0o755)
    assert path.stat().st_uid == os.getuid()


@pytest.mark.parametrize(("name", "out"), [("dev.en.gz", "dev.en"), ("dev.en", "dev.en")])
def test_a_single_gzip_is_unpacked_whatever_its_name(tmp_path, into, name, out) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert extract(tmp_path / name, [], into) == [into / out]
    assert contents(into) == {out: b"a\nb\n"}


@pytest.mark.parametrize("content", [b"", b"a\tb\n", b"x" * 5000])
def test_a_plain_file_is_copied(tmp_path, into, content) -> None:
    (tmp_path / "a.tgz").write_bytes(content)
    assert extract(tmp_path / "a.tgz", [], into) == [into / "a.tgz"]
    assert contents(into) == {"a.tgz": content} and (tmp_path / "a.tgz").exists()


def test_archives_need_patterns_and_single_files_have_none(tmp_path, into, form) -> None:
    refused(pack(tmp_path / "a", form, FILES), [], into, "is an archive of files; say which of its members are wanted")
    for content in (b"text", gzip.compress(b"text")):
        (tmp_path / "b").write_bytes(content)
        refused(tmp_path / "b", ["x", "y"], into, "is no archive, so x, y cannot be in it")


def test_what_is_missing_is_told_with_what_is_near(tmp_path, into, form) -> None:
    path = pack(tmp_path / "a", form, FILES)
    refused(path, ["corpus/Book_en.txt"], into, r"no member corpus/Book_en.txt; there is .*corpus/Book1_en.txt")
    refused(path, ["README", "zzz*"], into, r"no member zzz\*; there is README, corpus/Book1_en.txt")
    refused(pack(tmp_path / "b", form, {}), ["a"], into, "no member a; it has none at all")


@pytest.mark.parametrize("name", ["../a", "x/../../a", "/etc/a", "..", "..\\a", "C:\\a", "c:/a", "\\a", "x/.."])
def test_a_name_that_leads_out_condemns_the_archive_even_if_nobody_asks_for_it(tmp_path, into, form, name) -> None:
    path = pack(tmp_path / "a", form, [("good", b"1"), (name, b"2")])
    refused(path, ["good"], into, "leads out of the folder; such an archive is not unpacked")


LINKS = [
    ({"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "is a link"),
    ({"type": tarfile.LNKTYPE, "linkname": "good"}, "is a link"),
    ({"type": tarfile.FIFOTYPE}, "is a device or a pipe"),
    ({"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5}, "is a device or a pipe"),
    ({"type": tarfile.BLKTYPE}, "is a device or a pipe"),
]


@pytest.mark.parametrize(("changes", "problem"), LINKS)
def test_links_and_devices_are_refused_if_asked_for_and_passed_over_if_not(tmp_path, into, changes, problem) -> None:
    with tarfile.open(tmp_path / "a", "w:gz") as archive:
        add(archive, "good", b"1")
        add(archive, "odd", **changes)
    refused(tmp_path / "a", ["good", "odd"], into, f"odd {problem}; only plain files are unpacked")
    assert extract(tmp_path / "a", ["good"], into) == [into / "good"]
    assert contents(into) == {"good": b"1"}


@pytest.mark.parametrize(("mode", "problem"), [(0o120777, "is a link"), (0o010644, "is a device or a pipe")])
def test_links_and_devices_in_a_zip_are_refused_too(tmp_path, into, mode, problem) -> None:
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        archive.writestr("good", b"1")
        odd = zipfile.ZipInfo("odd")
        odd.external_attr = mode << 16
        archive.writestr(odd, "/etc/passwd")
    refused(tmp_path / "a", ["*"], into, f"odd {problem}")
    assert extract(tmp_path / "a", ["good"], into) == [into / "good"]


def test_a_link_that_is_passed_over_is_not_written_through(tmp_path, into) -> None:
    (tmp_path / "elsewhere").mkdir()
    with tarfile.open(tmp_path / "a", "w") as archive:
        add(archive, "x", type=tarfile.SYMTYPE, linkname=str(tmp_path / "elsewhere"))
        add(archive, "x/a", b"1")
    assert extract(tmp_path / "a", ["x/a"], into) == [into / "x/a"]
    assert os.listdir(tmp_path / "elsewhere") == [] and contents(into) == {"x/a": b"1"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused_also_under_another_spelling(tmp_path, into, form) -> None:
    path = pack(tmp_path / "a", form, [("x/a", b"1"), ("./x//a", b"2")])
    refused(path, ["x/a"], into, "x/a is there twice")
    path = pack(tmp_path / "a", form, [("a", b"1"), ("a", b"2"), ("b", b"3")])
    refused(path, ["a"], into, "a is there twice")
    assert extract(path, ["b"], into) == [into / "b"]


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a")])
def test_a_member_cannot_be_file_and_folder(tmp_path, into, form, names) -> None:
    path = pack(tmp_path / "a", form, dict.fromkeys(names, b"1"))
    refused(path, list(names), into, "is both a file and a folder")


def test_names_with_control_characters_are_refused_if_asked_for(tmp_path, into, form) -> None:
    path = pack(tmp_path / "a", form, {"a\rb": b"1", "good": b"2"})
    refused(path, ["*"], into, r"'a\\rb' has characters that do not belong")
    assert extract(path, ["good"], into) == [into / "good"]


def test_an_encrypted_member_is_refused_if_asked_for(tmp_path, into) -> None:
    path = pack(tmp_path / "a", "zip", {"good": b"1", "secret": b"2"})
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\1\2")
    content[entry + 8] |= 1
    path.write_bytes(content)
    refused(path, ["*"], into, "secret is encrypted")
    assert extract(path, ["good"], into) == [into / "good"]


def test_groups_of_patterns_come_out_as_if_each_were_asked_for_alone_though_the_archive_is_read_once(
    tmp_path, into, form, monkeypatch
) -> None:
    path = pack(tmp_path / "a", form, FILES)
    groups = [["corpus/*_cn.txt"], ["corpus/Book1*", "corpus/*_en.txt"], ["corpus/Book2*"]]
    alone = [[file.relative_to(into) for file in extract(path, group, into)] for group in groups]
    opened = []
    monkeypatch.setattr(archives, "Budget", lambda path: opened.append(path) or members.Budget(path))
    both = extract_each(path, groups, into / "each")
    assert [[file.relative_to(into / "each") for file in files] for files in both] == alone
    assert all(file.is_file() for files in both for file in files) and opened == [path]
    with pytest.raises(UserError, match="has no member none"):
        extract_each(path, [["README"], ["none"]], into)
    with pytest.raises(UserError, match="is an archive of files; say which"):
        extract_each(path, [["README"], []], into)


def test_a_file_that_is_no_archive_is_the_same_for_all_who_ask_for_it(tmp_path, into) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\n")
    assert extract_each(tmp_path / "a.txt", [[], []], into) == [[into / "a.txt"]] * 2
    with pytest.raises(UserError, match="is no archive, so x cannot be in it"):
        extract_each(tmp_path / "a.txt", [[], ["x"]], into)


def test_entries_that_share_their_bytes_are_refused(tmp_path, into) -> None:
    path = pack(tmp_path / "a", "zip", {"a": b"1" * 9000, "b": b"1" * 9000})
    content = bytearray(path.read_bytes())
    second = content.rindex(b"PK\1\2")
    content[second + 42 : second + 46] = bytes(4)  # its data is where the first entry's is
    path.write_bytes(content)
    refused(path, ["a"], into, "shares its bytes with other members")


def test_a_bomb_is_refused_after_its_true_bytes_and_not_by_what_it_says(tmp_path, into, form, monkeypatch) -> None:
    monkeypatch.setattr(members, "ALLOWANCE", 100_000)
    files = {"bomb": bytes(20_000_000), "good": b"1"}
    path = pack(tmp_path / "a", form, files)
    if form == "tar":  # as large as what is in it, so nothing can go off
        assert extract(path, ["bomb"], into) == [into / "bomb"]
        return
    refused(path, ["bomb"], into, "unpacks to more than [0-9]+ bytes, 50 times its size and 100000 more")
    assert max((path.stat().st_size for path in tmp_path.rglob("*")), default=0) < 2_000_000
    if form == "zip":  # what nobody asks for is not unpacked
        content = bytearray(path.read_bytes())
        for mark, place in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
            start = content.index(mark) + place
            content[start : start + 4] = (1).to_bytes(4, "little")
        path.write_bytes(content)
        refused(path, ["bomb"], into, "is damaged or cut short")
        assert extract(path, ["good"], into) == [into / "good"]
    else:
        refused(path, ["good"], into, "unpacks to more than")


def test_a_gzip_bomb_is_refused(tmp_path, into, monkeypatch) -> None:
    monkeypatch.setattr(members, "ALLOWANCE", 100_000)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x" * 20_000_000))
    refused(tmp_path / "a.gz", [], into, "unpacks to more than")


def test_a_sparse_member_is_no_way_to_fill_a_disk(tmp_path, into) -> None:
    header = tarfile.TarInfo("a")
    header.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    block[483:495] = b"77777777777\0"  # eight gigabytes of holes
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    (tmp_path / "a").write_bytes(bytes(block) + bytes(1024))
    refused(tmp_path / "a", ["a"], into, "a is a sparse file")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_made_to_fill_memory_are_refused(tmp_path, into, kind) -> None:
    with tarfile.open(tmp_path / "a", "w:gz") as archive:
        add(archive, "x", bytes(1_000_000), type=kind)
    refused(tmp_path / "a", ["x"], into, "is damaged or cut short .a header of 1000000 bytes")


def test_memory_stays_flat(tmp_path, into, form) -> None:
    path = pack(tmp_path / "a", form, {"big": random.Random(1).randbytes(1 << 20) * 16, "small": b"1"})
    tracemalloc.start()
    try:
        extract(path, ["big"], into)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_memory_stays_flat_over_many_members(tmp_path, into) -> None:
    other, wanted = tarfile.TarInfo("other").tobuf(), tarfile.TarInfo("wanted").tobuf()
    (tmp_path / "a").write_bytes(other * 20_000 + wanted + bytes(1024))
    tracemalloc.start()
    try:
        assert extract(tmp_path / "a", ["wanted"], into) == [into / "wanted"]
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("magic", [b"BZh9", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"\x28\xb5\x2f\xfd"])
def test_other_compressions_are_refused_by_name(tmp_path, into, magic) -> None:
    (tmp_path / "a").write_bytes(magic + bytes(100))
    for patterns in ([], ["a"]):
        refused(
            tmp_path / "a", patterns, into, "is compressed with .*; allowed are tar, tar.gz, zip, gz and plain files"
        )


def test_a_missing_archive_and_a_target_that_is_a_file_are_refused(tmp_path, into, form) -> None:
    refused(tmp_path / "none", ["a"], into, "none: no such file")
    path = pack(tmp_path / "a", form, FILES)
    with pytest.raises(UserError, match="README: is a file, expected a folder or nothing"):
        extract(path, ["*"], extract(path, ["README"], into)[0])


def test_wherever_an_archive_is_cut_it_is_refused_and_nothing_is_left(tmp_path, into, form) -> None:
    whole = pack(tmp_path / "a", form, FILES).read_bytes()
    end = whole.rindex(b"three\n") + 512 * 2 if form == "tar" else len(whole)
    chance = random.Random(1)
    for cut in {*chance.sample(range(1, end), 25), end - 1, *(range(512, end, 1024) if form == "tar" else ())}:
        path = tmp_path / "cut"
        path.write_bytes(whole[:cut])
        refused(path, ["corpus/*_en.txt"], into, "is damaged or cut short|is no archive")


@pytest.mark.parametrize("form", ["tgz", "zip"], indirect=True)
def test_a_changed_byte_is_refused_or_changes_no_content(tmp_path, into, form) -> None:
    whole = pack(tmp_path / "a", form, FILES).read_bytes()
    wanted = {name: content for name, content in FILES.items() if name.startswith("corpus/deep")}
    chance, refusals = random.Random(1), []
    for place in chance.sample(range(len(whole)), min(len(whole), 120)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        (tmp_path / "b").write_bytes(damaged)
        try:
            extract(tmp_path / "b", ["corpus/deep/*"], into / str(place))
        except UserError as error:
            refusals.append(str(error))
            assert not (into / str(place)).exists()
        else:
            assert contents(into / str(place)) == wanted
    assert len(refusals) > 20 and "\n" not in "".join(refusals)


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path, into) -> None:
    path = pack(tmp_path / "a", "tgz", {"small": b"1", "big": bytes(300_000)})
    code = "\n".join(
        [
            "from pathlib import Path; from axenat.data.archives import extract; from axenat.files import UserError",
            f"try: extract(Path({str(path)!r}), ['*'], Path({str(into)!r}))",
            "except UserError as error: print(error)",
        ]
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=limit)
    assert done.stdout == f"{into}: File too large; make room and run the same command again\n", done.stderr
    assert os.listdir(into.parent) == []
