"""An archive is there with the right bytes or not at all, however the network behaves; mirrors need no network."""

import hashlib
import logging
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from axenat.archive import Archive
from axenat.data import download, http_download
from axenat.data.download import fetch, fetch_all, mirrors_from_environment
from axenat.data.http_download import HEADWAY
from axenat.data.side_by_side import side_by_side
from axenat.data.web import Patience
from axenat.files import UserError
from tests.web import Answer, Web, self_signed, serving

CONTENT = bytes(range(256)) * 4000  # a megabyte
HALF = len(CONTENT) // 2
QUICK = Patience(attempts=4, first_wait=0.01, longest_wait=0.05, connect=2.0, read=0.4)
NOWHERE = "http://nowhere.invalid/corpus/a.tgz"


def archive(*addresses: str, content: bytes = CONTENT, **changes) -> Archive:
    sums = {"sha256": hashlib.sha256(content).hexdigest(), "md5": hashlib.md5(content).hexdigest()}
    return Archive(addresses=addresses, **({"bytes": len(content)} | sums | changes))


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AXENAT_MIRROR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def web(tmp_path):
    served = tmp_path / "served"
    (served / "corpus").mkdir(parents=True)
    (served / "corpus" / "a.tgz").write_bytes(CONTENT)
    with serving(served) as web:
        yield web


@pytest.fixture
def out(tmp_path):
    return tmp_path / "archives"


def ranges(web: Web) -> list[str]:
    return [asked.headers.get("range", "") for asked in web.asked]


def kept(out) -> dict[str, int]:
    """What lies in the folder and is no lock."""
    files = [path for path in out.rglob("*") if path.is_file() and not path.name.endswith(".lock")]
    return {str(path.relative_to(out)): path.stat().st_size for path in files}


def interrupted(web: Web, out, *answers: Answer, address: str = "", **changes) -> None:
    """Half of the archive is there, and its server was lost."""
    web.next("corpus/a.tgz", *(answers or [Answer(cut_after=HALF)]))
    once = Patience(attempts=1, read=0.4)
    with pytest.raises(UserError, match="could not be downloaded"):
        fetch(archive(address or web.address("corpus/a.tgz"), **changes), out, patience=once)
    web.asked.clear()


def test_an_archive_is_at_its_host_and_path_and_leaves_nothing_else(web, out) -> None:
    path = fetch(archive(web.address("corpus/a.tgz")), out)
    assert path == out / "127.0.0.1" / "corpus" / "a.tgz" and path.read_bytes() == CONTENT
    assert kept(out) == {"127.0.0.1/corpus/a.tgz": len(CONTENT)}
    assert web.asked[0].headers["accept-encoding"] == "identity"


def test_an_archive_that_is_there_is_verified_without_the_network(web, out) -> None:
    path = fetch(archive(web.address("corpus/a.tgz")), out)
    web.asked.clear()
    before = path.stat()
    assert fetch(archive(web.address("corpus/a.tgz")), out) == path
    assert web.asked == []
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("content", "changes", "sentence"),
    [
        (CONTENT[:-1], {}, rf"expected {len(CONTENT)} bytes, found {len(CONTENT) - 1}"),
        (CONTENT[:-1] + b"x", {}, "expected sha256 [0-9a-f]{64}, found [0-9a-f]{64}"),
        (CONTENT[:-1] + b"x", {"sha256": None, "bytes": None}, "expected md5 [0-9a-f]{32}, found [0-9a-f]{32}"),
        (CONTENT, {"md5": "0" * 32}, "expected md5 0{32}, found"),
    ],
)
def test_a_file_that_changed_under_the_recipe_is_refused_and_left_alone(web, out, content, changes, sentence) -> None:
    path = out / "127.0.0.1" / "corpus" / "a.tgz"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"a.tgz: changed under the recipe .{sentence}.*move it away") as caught:
        fetch(archive(web.address("corpus/a.tgz"), **changes), out)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content and web.asked == []


@pytest.mark.parametrize("place", [0, 1])
def test_a_mirror_folder_may_have_the_archive_under_any_of_its_addresses_and_needs_no_network(
    tmp_path, out, place
) -> None:
    addresses = [NOWHERE, "http://elsewhere.invalid/b.tgz?version=2"]
    mirror = tmp_path / "mirror" / ["nowhere.invalid/corpus/a.tgz", "elsewhere.invalid/b.tgz?version=2"][place]
    mirror.parent.mkdir(parents=True)
    mirror.write_bytes(CONTENT)
    path = fetch(archive(*addresses), out, mirrors=[str(tmp_path), str(tmp_path / "mirror")])
    assert path == out / "nowhere.invalid" / "corpus" / "a.tgz" and path.read_bytes() == CONTENT
    assert not path.samefile(mirror) and kept(out) == {"nowhere.invalid/corpus/a.tgz": len(CONTENT)}


@pytest.mark.parametrize("wrong", [CONTENT[:-1], CONTENT[:-1] + b"x"])
def test_a_wrong_file_in_a_mirror_folder_is_refused_by_name(tmp_path, out, wrong) -> None:
    mirror = tmp_path / "mirror" / "nowhere.invalid" / "corpus" / "a.tgz"
    mirror.parent.mkdir(parents=True)
    mirror.write_bytes(wrong)
    with pytest.raises(UserError, match=rf"{mirror}: is not the archive of the recipe \(expected .*, found "):
        fetch(archive(NOWHERE), out, mirrors=[str(tmp_path / "mirror")])
    assert kept(out) == {}


def test_a_mirror_on_the_web_is_asked_before_the_addresses(web, out) -> None:
    (web.folder / "m" / "nowhere.invalid").mkdir(parents=True)
    (web.folder / "m" / "nowhere.invalid" / "b.tgz?x=1").write_bytes(CONTENT)
    address = "http://nowhere.invalid/b.tgz?x=1"
    path = fetch(archive(address), out, mirrors=[web.address("empty"), web.address("m/")], patience=QUICK)
    assert path.read_bytes() == CONTENT
    assert [asked.path for asked in web.asked] == [
        "/empty/nowhere.invalid/b.tgz%3Fx%3D1",
        "/m/nowhere.invalid/b.tgz%3Fx%3D1",
    ]


@pytest.mark.parametrize("mirror", ["no/such/folder", "ftp://host/x", "file:///tmp"])
def test_a_mirror_that_is_neither_folder_nor_web_is_refused(web, out, mirror) -> None:
    words = f"mirror {mirror}: is neither a folder that exists nor an address of http or https"
    for action in (fetch, lambda one, *rest, **more: fetch_all([one], *rest, **more)):
        with pytest.raises(UserError, match=words):
            action(archive(web.address("corpus/a.tgz")), out, mirrors=[mirror])
    assert web.asked == [] and not out.exists()


def test_mirrors_of_the_environment_are_separated_by_commas(monkeypatch) -> None:
    assert mirrors_from_environment() == ()
    monkeypatch.setenv("AXENAT_MIRROR", "/a folder, http://host:80/x,")
    assert mirrors_from_environment() == ("/a folder", "http://host:80/x")


@pytest.mark.parametrize(
    "address",
    [
        "http://[/y",
        "http://host:99999/a",
        "http://host/a\0b",
        "ftp://host/a",
        "http:///a",
        "http://host",
        "http://host/",
        "http://host/a/../b",
        "http://host/a?b=/../../c",
    ],
)
def test_an_address_names_a_file_whose_place_does_not_leave_the_folder(address) -> None:
    with pytest.raises(UserError, match="addresses must be of files on the web"):
        archive(address)


@pytest.mark.parametrize("known", [True, False])
def test_a_broken_connection_is_taken_up_where_it_broke(web, out, known) -> None:
    web.next("corpus/a.tgz", Answer(cut_after=HALF), Answer(cut_after=1000))
    changes = {} if known else {"bytes": None}
    path = fetch(archive(web.address("corpus/a.tgz"), **changes), out, patience=QUICK)
    assert path.read_bytes() == CONTENT and web.sent == len(CONTENT)
    assert ranges(web) == ["", f"bytes={HALF}-", f"bytes={HALF + 1000}-"]
    assert all(asked.headers["if-range"].startswith('"') for asked in web.asked[1:])


def test_a_body_without_a_length_that_ends_early_is_taken_up_too(web, out) -> None:
    web.next("corpus/a.tgz", Answer(cut_after=HALF, length=False))
    assert fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK).read_bytes() == CONTENT
    assert ranges(web) == ["", f"bytes={HALF}-"]


def test_a_body_of_which_nobody_knows_the_length_is_read_once_more_before_it_counts_as_changed(web, out) -> None:
    wanted = archive(web.address("corpus/a.tgz"), bytes=None)
    web.next("corpus/a.tgz", Answer(cut_after=HALF, length=False))
    assert fetch(wanted, out, patience=QUICK).read_bytes() == CONTENT
    assert ranges(web) == ["", ""]
    web.always("corpus/a.tgz", Answer(cut_after=HALF, length=False))
    with pytest.raises(UserError, match=r"expected sha256 .*; if it changed there, correct the recipe"):
        fetch(wanted, out / "other", patience=QUICK)
    assert len(web.asked) == 4 and kept(out / "other") == {}


def test_a_body_that_does_not_end_is_cut_at_a_bound_where_nobody_knows_its_length(web, out, monkeypatch) -> None:
    monkeypatch.setattr(http_download, "MOST_UNTOLD", HALF)
    wanted = archive(web.address("corpus/a.tgz"), bytes=None)
    assert fetch(wanted, out, patience=QUICK).read_bytes() == CONTENT, "its server tells its length"
    web.always("corpus/a.tgz", Answer(length=False))
    assert fetch(archive(web.address("corpus/a.tgz")), out / "told", patience=QUICK).read_bytes() == CONTENT
    with pytest.raises(UserError, match=r"sends more than 512.0 kB and does not tell how many; the recipe may\)"):
        fetch(wanted, out / "other", patience=QUICK)
    assert kept(out / "other") == {} and web.sent <= 3 * len(CONTENT)


def test_a_silent_server_is_left_and_asked_again(web, out) -> None:
    released = threading.Event()
    web.next("corpus/a.tgz", Answer(hold_after=(HALF, released)))
    assert fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK).read_bytes() == CONTENT
    released.set()
    assert ranges(web) == ["", f"bytes={HALF}-"]


def test_another_process_goes_on_where_a_killed_one_was(web, out) -> None:
    interrupted(web, out)
    assert kept(out)["127.0.0.1/corpus/a.tgz.part"] == HALF
    assert "127.0.0.1/corpus/a.tgz" not in kept(out)
    fetch(archive(web.address("corpus/a.tgz")), out)
    assert ranges(web) == [f"bytes={HALF}-"]
    assert kept(out) == {"127.0.0.1/corpus/a.tgz": len(CONTENT)}


def test_a_server_without_ranges_starts_over(web, out) -> None:
    web.next("corpus/a.tgz", Answer(cut_after=HALF))
    web.always("corpus/a.tgz", Answer(ranges=False))
    assert fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK).read_bytes() == CONTENT
    assert ranges(web) == ["", f"bytes={HALF}-"]


def test_a_server_without_ranges_that_always_breaks_is_given_up(web, out) -> None:
    web.always("corpus/a.tgz", Answer(ranges=False, cut_after=HALF))
    with pytest.raises(UserError, match=r"could not be downloaded \(.*broke.*, in 4 attempts\)"):
        fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK)
    assert len(web.asked) == QUICK.attempts


@pytest.mark.parametrize("known", [True, False])
def test_any_headway_makes_earlier_failures_forgotten(web, out, known) -> None:
    web.always("corpus/a.tgz", Answer(cut_after=50_000))
    changes = {} if known else {"bytes": None}
    path = fetch(archive(web.address("corpus/a.tgz"), **changes), out, patience=QUICK)
    assert path.read_bytes() == CONTENT and web.sent == len(CONTENT)
    assert len(web.asked) == 21 > QUICK.attempts


def test_a_server_that_gives_a_few_bytes_at_a_time_is_given_up(web, out) -> None:
    web.always("corpus/a.tgz", Answer(cut_after=HEADWAY // 4))
    with pytest.raises(UserError, match=r"broke.*, in 5 attempts"):
        fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK)
    assert len(web.asked) == QUICK.attempts + 1  # their bytes have paid for one more


@pytest.mark.parametrize("known", [True, False])
def test_a_file_that_changed_on_the_server_is_not_stitched_to_its_old_half(web, out, known) -> None:
    changes = {} if known else {"bytes": None}
    interrupted(
        web,
        out,
        Answer(content=b"old" * HALF, cut_after=HALF, headers={"Content-Length": str(len(CONTENT))}),
        **changes,
    )
    fetch(archive(web.address("corpus/a.tgz"), **changes), out)
    assert len(web.asked) == 1 and web.asked[0].headers["if-range"]
    assert kept(out) == {"127.0.0.1/corpus/a.tgz": len(CONTENT)}


def test_a_new_tag_in_the_answer_counts_even_if_the_server_ignores_the_condition(web, out) -> None:
    interrupted(web, out, Answer(cut_after=HALF, headers={"ETag": '"old"'}))
    span = f"bytes {HALF}-{len(CONTENT) - 1}/{len(CONTENT)}"
    careless = Answer(status=206, headers={"Content-Range": span, "ETag": '"new"', "Content-Length": str(HALF)})
    web.next("corpus/a.tgz", careless)
    assert fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK).read_bytes() == CONTENT
    assert ranges(web) == [f"bytes={HALF}-", ""]


def test_without_strong_tags_the_date_is_the_condition(web, out) -> None:
    interrupted(web, out, Answer(cut_after=HALF, headers={"ETag": 'W/"weak"'}))
    fetch(archive(web.address("corpus/a.tgz")), out)
    assert web.asked[0].headers["if-range"].endswith("1970 00:00:00 GMT")


def test_a_half_with_a_wrong_seam_is_fetched_once_more_from_the_start(web, out) -> None:
    interrupted(web, out)
    part = out / "127.0.0.1" / "corpus" / "a.tgz.part"
    part.write_bytes(b"?" * HALF)
    assert fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK).read_bytes() == CONTENT
    assert ranges(web) == [f"bytes={HALF}-", ""]


@pytest.mark.parametrize("record", [None, b"", b"[1]", b"\xff"])
def test_bytes_without_a_readable_record_are_not_gone_on_with(web, out, record) -> None:
    interrupted(web, out)
    path = out / "127.0.0.1" / "corpus" / "a.tgz.part.json"
    path.unlink() if record is None else path.write_bytes(record)
    fetch(archive(web.address("corpus/a.tgz")), out)
    assert ranges(web) == [""]
    assert kept(out) == {"127.0.0.1/corpus/a.tgz": len(CONTENT)}


def test_another_address_goes_on_with_the_bytes_of_the_first(web, out) -> None:
    (web.folder / "b.tgz").write_bytes(CONTENT)
    web.next("corpus/a.tgz", Answer(cut_after=HALF), *[Answer(status=503)] * 3)
    fetch(archive(web.address("corpus/a.tgz"), web.address("b.tgz")), out, patience=QUICK)
    assert (web.asked[-1].path, ranges(web)[-1]) == ("/b.tgz", f"bytes={HALF}-")
    assert "if-range" not in web.asked[-1].headers


def test_addresses_that_fail_cost_no_bytes_that_are_there(web, out) -> None:
    interrupted(web, out)
    web.next("corpus/a.tgz", Answer(status=403))
    with pytest.raises(UserError, match=r"a.tgz: .*403 Forbidden.*none.tgz: .*404 Not Found"):
        fetch(archive(web.address("corpus/a.tgz"), web.address("none.tgz")), out, patience=QUICK)
    assert kept(out)["127.0.0.1/corpus/a.tgz.part"] == HALF
    fetch(archive(web.address("corpus/a.tgz")), out)
    assert ranges(web)[-1] == f"bytes={HALF}-"


@pytest.mark.parametrize("known", [True, False])
def test_a_part_that_is_already_whole_is_only_verified(web, out, known) -> None:
    changes = {} if known else {"bytes": None}
    interrupted(web, out, **changes)
    (out / "127.0.0.1" / "corpus" / "a.tgz.part").write_bytes(CONTENT)
    fetch(archive(web.address("corpus/a.tgz"), **changes), out)
    assert web.sent <= HALF
    assert len(web.asked) == (0 if known else 1)  # then 416 tells that there is no more
    assert kept(out) == {"127.0.0.1/corpus/a.tgz": len(CONTENT)}


def test_a_part_that_is_too_long_is_thrown_away(web, out) -> None:
    for known in ({}, {"bytes": None}):
        interrupted(web, out, **known)
        (out / "127.0.0.1" / "corpus" / "a.tgz.part").write_bytes(CONTENT + b"more")
        path = fetch(archive(web.address("corpus/a.tgz"), **known), out, patience=QUICK)
        assert path.read_bytes() == CONTENT
        path.unlink()


@pytest.mark.parametrize("span", ["", "bytes 0-9/10", f"bytes 7-{len(CONTENT) - 1}/{len(CONTENT)}", "lines 1-2/3"])
def test_a_range_that_was_not_asked_for_is_not_appended(web, out, span) -> None:
    interrupted(web, out)
    web.next("corpus/a.tgz", Answer(status=206, headers={"Content-Range": span}))
    assert fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK).read_bytes() == CONTENT
    assert ranges(web) == [f"bytes={HALF}-", ""]


def test_what_contradicts_the_recipe_is_refused_before_it_is_read(web, out) -> None:
    (web.folder / "corpus" / "a.tgz").write_bytes(CONTENT * 9)
    with pytest.raises(UserError, match=rf"offers {9 * len(CONTENT)} bytes, but the recipe says {len(CONTENT)}"):
        fetch(archive(web.address("corpus/a.tgz")), out)
    assert kept(out) == {} and len(web.asked) == 1


def test_a_body_that_does_not_end_is_cut_at_the_size_of_the_recipe(web, out) -> None:
    web.always("corpus/a.tgz", Answer(content=CONTENT * 9, length=False))
    with pytest.raises(UserError, match=f"sends more than the {len(CONTENT)} bytes"):
        fetch(archive(web.address("corpus/a.tgz")), out)
    assert max(kept(out).values()) <= len(CONTENT)


@pytest.mark.parametrize("status", [404, 403, 410])
def test_a_lasting_refusal_is_not_tried_again(web, out, status) -> None:
    web.always("corpus/a.tgz", Answer(status=status))
    with pytest.raises(UserError, match=f"{status} "):
        fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK)
    assert len(web.asked) == 1 and kept(out) == {}


@pytest.mark.parametrize("status", [429, 500, 503, 504])
def test_a_passing_refusal_is_tried_again_but_not_for_ever(web, out, status) -> None:
    web.next("corpus/a.tgz", *[Answer(status=status)] * 3)
    assert fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK).read_bytes() == CONTENT
    web.always("corpus/a.tgz", Answer(status=status))
    web.asked.clear()
    with pytest.raises(UserError, match=f"{status} .*, in 4 attempts"):
        fetch(archive(web.address("corpus/a.tgz")), out / "other", patience=QUICK)
    assert len(web.asked) == 4


@pytest.mark.parametrize(
    ("wish", "wait"),
    [("7", 7.0), ("3600", 60.0), ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0), ("Fri, 31 Dec 2199 23:59:59 -0000", 60.0)],
)
def test_the_servers_wish_is_honoured_within_bounds(web, out, monkeypatch, wish, wait) -> None:
    waits = []
    web.next("corpus/a.tgz", Answer(status=429, headers={"Retry-After": wish}))

    class Event(threading.Event):
        def wait(self, timeout=None) -> bool:
            waits.append(timeout)
            return False

    fetch(archive(web.address("corpus/a.tgz")), out, patience=Patience(longest_wait=60.0), stopped=Event())
    assert waits == [wait]


def test_waits_double_up_to_a_bound_and_differ_by_chance() -> None:
    patience = Patience(first_wait=1.0, longest_wait=60.0)
    for failures, most in [(1, 1.0), (2, 2.0), (5, 16.0), (9, 60.0), (500, 60.0)]:
        waits = {patience.wait(failures, None) for _ in range(50)}
        assert len(waits) > 40 and most / 2 <= min(waits) <= max(waits) <= most


def test_wrong_bytes_lead_to_the_next_address(web, out) -> None:
    (web.folder / "b.tgz").write_bytes(CONTENT)
    web.always("corpus/a.tgz", Answer(content=b"?" * len(CONTENT)))
    assert fetch(archive(web.address("corpus/a.tgz"), web.address("b.tgz")), out).read_bytes() == CONTENT
    assert [asked.path for asked in web.asked] == ["/corpus/a.tgz", "/b.tgz"] and ranges(web) == ["", ""]


def test_wrong_bytes_everywhere_are_told_with_address_and_both_sums_and_nothing_is_kept(web, out) -> None:
    web.always("corpus/a.tgz", Answer(content=b"?" * len(CONTENT)))
    found = hashlib.sha256(b"?" * len(CONTENT)).hexdigest()
    wanted = archive(web.address("corpus/a.tgz"))
    with pytest.raises(UserError) as caught:
        fetch(wanted, out)
    for words in (wanted.addresses[0], f"expected sha256 {wanted.sha256}", f"found {found}", "correct the recipe"):
        assert words in str(caught.value)
    assert kept(out) == {} and len(web.asked) == 1


@pytest.mark.parametrize(
    ("address", "why"), [(NOWHERE, "name resolution failed"), ("http://127.0.0.1:9/a.tgz", "connection refused")]
)
def test_without_a_network_one_sentence_tells_the_address_and_the_mirror(out, address, why) -> None:
    with pytest.raises(UserError) as caught:
        fetch(archive(address), out, patience=Patience(attempts=2, first_wait=0.01))
    assert str(caught.value) == (
        f"{address}: could not be downloaded ({why}, in 2 attempts); without a network, set AXENAT_MIRROR to a folder "
        f"laid out by host and path that holds {archive(address).place}"
    )
    assert kept(out) == {}


def test_a_mirror_without_the_archive_is_named_with_what_it_lacks(tmp_path, web, out) -> None:
    wanted = archive(NOWHERE, "http://elsewhere.invalid/b.tgz")
    mirrors = [str(tmp_path), web.origin]
    with pytest.raises(UserError) as caught:
        fetch(wanted, out, mirrors=mirrors, patience=Patience(attempts=1))
    said, place = str(caught.value), "nowhere.invalid/corpus/a.tgz"
    assert said.startswith(f"{tmp_path} has no {place} or elsewhere.invalid/b.tgz; {web.origin}/{place}: could not be ")
    advice = "without a network, put it into that mirror or set AXENAT_MIRROR to a folder laid out by host and path"
    assert said.endswith(f"; {advice} that holds {place}") and "\n" not in said


def test_a_gzip_that_the_server_declares_as_an_encoding_stays_a_gzip(web, out) -> None:
    web.always("corpus/a.tgz", Answer(headers={"Content-Encoding": "x-gzip"}))
    assert fetch(archive(web.address("corpus/a.tgz")), out).read_bytes() == CONTENT


def test_redirects_are_followed_with_the_range_but_not_for_ever(web, out) -> None:
    interrupted(web, out)
    (web.folder / "corpus" / "a.tgz").rename(web.folder / "moved.tgz")
    web.always("corpus/a.tgz", Answer(status=302, headers={"Location": "/moved.tgz"}))
    assert fetch(archive(web.address("corpus/a.tgz")), out).read_bytes() == CONTENT
    assert [asked.path for asked in web.asked] == ["/corpus/a.tgz", "/moved.tgz"]
    assert ranges(web) == [f"bytes={HALF}-"] * 2
    web.always("round", Answer(status=301, headers={"Location": "/round"}))
    with pytest.raises(UserError, match="redirects more than 10 times"):
        fetch(archive(web.address("round")), out)


@pytest.mark.parametrize("target", ["ftp://host/a.tgz", "file:///etc/passwd"])
def test_redirects_lead_to_the_web_only(web, out, target) -> None:
    web.always("corpus/a.tgz", Answer(status=302, headers={"Location": target}))
    with pytest.raises(UserError, match=f"redirects to {target}, and only http and https may follow"):
        fetch(archive(web.address("corpus/a.tgz")), out)


@pytest.mark.parametrize(
    "target",
    ["http://[", "/\xff", f"http://{'a' * 70}.com/x", "http://127.0.0.1:99999/x", "http://host:x/", "ftp:\r\n x"],
)
def test_a_redirect_to_what_is_no_address_is_told_in_one_line_and_leads_to_the_next_address(
    web, out, caplog, target
) -> None:
    caplog.set_level(logging.INFO)
    web.always("odd.tgz", Answer(status=302, headers={"Location": target}))
    fetch(archive(web.address("odd.tgz"), web.address("corpus/a.tgz")), out, patience=QUICK)
    assert [asked.path for asked in web.asked] == ["/odd.tgz", "/corpus/a.tgz"]
    told = caplog.messages[0]
    assert told.startswith(f"{web.address('odd.tgz')}: could not be downloaded (") and "\n" not in told
    assert "the connection broke" not in told


def test_the_body_of_a_redirect_is_not_read(web, out) -> None:
    released = threading.Event()
    endless = Answer(
        content=CONTENT, content_status=302, headers={"Location": "/corpus/a.tgz"}, hold_after=(9, released)
    )
    web.always("moved.tgz", endless)
    assert fetch(archive(web.address("moved.tgz")), out, patience=QUICK).read_bytes() == CONTENT
    released.set()
    assert [asked.path for asked in web.asked] == ["/moved.tgz", "/corpus/a.tgz"]


@pytest.mark.parametrize("length", ["\xb2", "9" * 5000, "-5", "1e6", "+1024000"])
@pytest.mark.parametrize("known", [True, False])
def test_a_length_that_is_no_number_is_no_length(web, out, length, known) -> None:
    web.always("corpus/a.tgz", Answer(length=False, headers={"Content-Length": length}))
    changes = {} if known else {"bytes": None}
    assert fetch(archive(web.address("corpus/a.tgz"), **changes), out, patience=QUICK).read_bytes() == CONTENT


def test_a_total_that_is_no_number_is_no_total(web, out) -> None:
    interrupted(web, out)
    span = f"bytes {HALF}-{len(CONTENT) - 1}/{'9' * 5000}"
    web.next("corpus/a.tgz", Answer(headers={"Content-Range": span}))
    assert fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK).read_bytes() == CONTENT
    assert ranges(web) == [f"bytes={HALF}-"]


@pytest.mark.parametrize("wish", ["\xb2", "soon", "-7", "Mon, 01 Jan 2024 00:00:00 +99999999999999999"])
def test_a_wish_that_is_no_time_is_no_wish(web, out, wish) -> None:
    web.next("corpus/a.tgz", Answer(status=503, headers={"Retry-After": wish}))
    assert fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK).read_bytes() == CONTENT


def test_certificates_that_are_not_there_lead_to_the_next_address(web, out, monkeypatch, caplog) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nonexistent")
    safe = web.address("corpus/a.tgz").replace("http:", "https:")
    assert fetch(archive(safe, web.address("corpus/a.tgz")), out, patience=QUICK).read_bytes() == CONTENT
    assert "/nonexistent" in caplog.messages[0]


def test_certificates_are_checked_and_https_does_not_redirect_to_http(web, out, tmp_path, monkeypatch) -> None:
    pytest.importorskip("cryptography")
    certificate = self_signed(tmp_path / "certificate.pem")
    with serving(web.folder, certificate) as safe:
        wanted = archive(safe.address("corpus/a.tgz"))
        with pytest.raises(UserError, match=r"certificate not accepted: self.signed certificate\)"):
            fetch(wanted, out, patience=QUICK)
        assert safe.asked == []
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        safe.next("corpus/a.tgz", Answer(status=302, headers={"Location": web.address("corpus/a.tgz")}))
        with pytest.raises(UserError, match=f"redirects to {web.address('')}.*only https may follow"):
            fetch(wanted, out, patience=QUICK)
        assert web.asked == []
        assert fetch(wanted, out, patience=QUICK).read_bytes() == CONTENT


def test_a_proxy_of_the_environment_is_used(web, out, monkeypatch) -> None:
    monkeypatch.setenv("http_proxy", web.origin)
    assert fetch(archive(NOWHERE), out, patience=QUICK).read_bytes() == CONTENT
    assert [asked.path for asked in web.asked] == [NOWHERE]


def test_too_little_room_is_told_before_the_download(web, out, monkeypatch) -> None:
    monkeypatch.setattr(http_download.shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    (web.folder / "127.0.0.1").symlink_to(web.folder)
    words = r"a.tgz.*: needs 1.0 MB but its disk has 1.0 kB left; make room"
    for mirrors in ([], [str(web.folder)]):
        with pytest.raises(UserError, match=words):
            fetch(archive(web.address("corpus/a.tgz")), out, mirrors=mirrors)
    assert web.asked == []
    with pytest.raises(UserError, match=words):
        fetch(archive(web.address("corpus/a.tgz"), bytes=None), out)
    assert kept(out) == {}


def test_two_that_want_the_same_archive_fetch_it_once(web, out) -> None:
    released = threading.Event()
    web.next("corpus/a.tgz", Answer(hold_after=(HALF, released)))
    paths = []
    wanted = archive(web.address("corpus/a.tgz"))
    threads = [threading.Thread(target=lambda: paths.append(fetch(wanted, out))) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    released.set()
    for thread in threads:
        thread.join()
    assert len(paths) == 3 and len(web.asked) == 1
    assert paths[0].read_bytes() == CONTENT


def test_progress_adds_up_to_the_bytes_that_are_there(web, out, tmp_path) -> None:
    def total(**options) -> int:
        changes: list[int] = []
        fetch(archive(web.address("corpus/a.tgz")), out, patience=QUICK, advance=changes.append, **options)
        return sum(changes)

    web.next("corpus/a.tgz", Answer(cut_after=HALF), Answer(ranges=False, cut_after=1000))
    assert total() == len(CONTENT)
    assert total() == len(CONTENT)  # already there
    (out / "127.0.0.1" / "corpus" / "a.tgz").unlink()
    interrupted(web, out)
    (web.folder / "127.0.0.1").symlink_to(web.folder)
    assert total(mirrors=[str(web.folder)]) == len(CONTENT)


@pytest.mark.parametrize("told", ["by the recipe", "by a mirror", "by the server", "by nobody"])
def test_the_whole_is_known_as_soon_as_somebody_tells_it(web, out, monkeypatch, told) -> None:
    totals: list[int | None] = []

    @contextmanager
    def watched(total, **options):
        yield lambda done: totals.append(total())

    monkeypatch.setattr(download, "long_work", watched)
    (web.folder / "b.tgz").write_bytes(CONTENT)
    (web.folder / "m").mkdir()
    (web.folder / "m" / "127.0.0.1").symlink_to(web.folder)
    web.always("b.tgz", Answer(length=told != "by nobody"))
    changes = {} if told == "by the recipe" else {"bytes": None}
    wanted = [archive(web.address("corpus/a.tgz")), archive(web.address("b.tgz"), **changes)]
    fetch_all(wanted, out, workers=1, mirrors=[str(web.folder / "m")] if told == "by a mirror" else [], patience=QUICK)
    assert totals[0] == len(CONTENT) * (1 + (told == "by the recipe")) and totals[-1] == 2 * len(CONTENT)
    half = next(number for number, total in enumerate(totals) if total == 2 * len(CONTENT))
    assert (half == len(totals) - 1) == (told == "by nobody")
    fetch_all(wanted, out, workers=1)
    assert totals[-1] == 2 * len(CONTENT)


def test_several_are_fetched_at_a_time_and_come_in_order(web, out) -> None:
    meet = threading.Barrier(3, timeout=10)

    class Meeting(threading.Event):
        def wait(self, timeout=None) -> bool:
            meet.wait()
            return True

    names = [f"{number}.tgz" for number in range(3)]
    for name in names:
        (web.folder / name).write_bytes(name.encode() * 1000)
        web.always(name, Answer(hold_after=(10, Meeting())))
    wanted = [archive(web.address(name), content=name.encode() * 1000) for name in names]
    assert [path.name for path in fetch_all(wanted, out, workers=3, patience=QUICK)] == names


def test_one_failure_leaves_the_others_to_finish_and_all_failures_are_told(web, out, caplog) -> None:
    wanted = [archive(web.address(name)) for name in ("one", "corpus/a.tgz", "two")]
    with pytest.raises(UserError, match=r"one: .*404"), caplog.at_level(logging.ERROR):
        fetch_all(wanted, out, workers=1)
    assert kept(out) == {"127.0.0.1/corpus/a.tgz": len(CONTENT)}
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "two: could not be downloaded (404 Not Found)" in caplog.messages[0]


def test_an_interrupt_does_not_wait_for_a_silent_server(web, out, monkeypatch) -> None:
    """Who waited for its answer, which comes after half a minute, would have the archive then."""
    released = threading.Event()
    web.always("corpus/a.tgz", Answer(hold_after=(HALF, released)))
    monkeypatch.setattr(threading.Thread, "join", interrupt_once(threading.Thread.join, web))
    with pytest.raises(KeyboardInterrupt):
        fetch_all([archive(web.address("corpus/a.tgz"))], out, patience=Patience(read=600.0))
    assert "127.0.0.1/corpus/a.tgz" not in kept(out)
    assert web.sent == HALF and len(web.asked) == 1
    released.set()


def interrupt_once(join, web: Web):
    """As soon as the server is silent."""
    called = []

    def interrupted(thread, timeout=None) -> None:
        if not called:
            called.append(True)
            while web.sent < HALF:
                time.sleep(0.01)
            raise KeyboardInterrupt
        join(thread, timeout)

    return interrupted


def test_tasks_give_their_results_in_order_and_there_may_be_none() -> None:
    assert side_by_side([], 4) == []
    assert side_by_side([lambda stopped, n=n: n for n in range(20)], 3) == list(range(20))
