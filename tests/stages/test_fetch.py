"""`axenat fetch`: the archives that a recipe needs, through kills and full disks, in one sentence or verified."""

import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from axenat import cli
from axenat.files import write_yaml
from tests.support import warm
from tests.web import Answer, serving

NAMES = ("train", "more", "dev", "unused")
CONTENT = {name: name.encode() * 100_000 for name in NAMES}
CLEAN_ENVIRONMENT = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}


class Corpus:
    """A recipe of four archives on a real server, one of which its default choice does not need."""

    def __init__(self, folder, web) -> None:
        self.folder, self.web = folder, web
        self.recipe, self.out = folder / "recipe.yaml", folder / "archives"
        for name, content in CONTENT.items():
            (web.folder / f"{name}.tgz").write_bytes(content)
        self.write(web.address(""))

    def write(self, prefix: str) -> None:
        archives = {
            name: {
                "addresses": [f"{prefix}{name}.tgz"],
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            for name, content in CONTENT.items()
        }
        parts = {
            name: {"files": {"en": f"{name}:{name}.en", "de": f"{name}:{name}.de"}}
            for name in ("train", "more", "unused")
        }
        files = {"en-de": {"en": "dev:a.en.sgm", "de": "dev:a.de.sgm"}}
        recipe = {"title": "A corpus", "languages": ["en", "de"], "archives": archives, "parts": parts}
        choice = {"sets": {"dev": {"files": files}}, "train": ["train", "more"], "valid": "dev", "test": "dev"}
        write_yaml(self.recipe, recipe | choice)

    def flags(self, *more: str) -> list[str]:
        return ["fetch", "--recipe", str(self.recipe), "--out", str(self.out), *more]

    def path(self, name: str):
        return self.out / "127.0.0.1" / f"{name}.tgz"

    def there(self) -> set[str]:
        return {name for name in NAMES if self.path(name).exists() and self.path(name).read_bytes() == CONTENT[name]}

    def start(self, *more: str, launcher: tuple[str, ...] = (), **options) -> subprocess.Popen:
        """The real command, if anything is to be done before it is at work."""
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": CLEAN_ENVIRONMENT}
        if launcher or "preexec_fn" in options:
            command = [*launcher, sys.executable, "-m", "axenat.cli", *self.flags(*more)]
            return subprocess.Popen(command, text=True, **options)
        return warm.Process(self.flags(*more), **options)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    for name in set(os.environ) - set(CLEAN_ENVIRONMENT):
        monkeypatch.delenv(name)
    monkeypatch.delenv("AXENAT_MIRROR", raising=False)
    (tmp_path / "served").mkdir()
    with serving(tmp_path / "served") as web:
        yield Corpus(tmp_path, web)


class Silence(threading.Event):
    """Longer than a server waits by itself."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(600)


def wait_until(condition) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_by_default_the_archives_of_train_valid_and_test_are_fetched_and_told(corpus) -> None:
    process = corpus.start()
    said = process.communicate()[1]
    assert process.returncode == 0, said
    assert corpus.there() == {"train", "more", "dev"}
    for name in corpus.there():
        assert f"127.0.0.1/{name}.tgz: downloaded from {corpus.web.address(name)}.tgz, " in said
    assert "127.0.0.1/train.tgz: downloaded from" in said and ", 500.0 kB in " in said


def test_one_job_may_fetch_exactly_one_archive_and_what_is_there_is_verified(corpus, caplog) -> None:
    caplog.set_level("INFO")
    assert cli.main(corpus.flags("--archives", "unused")) == 0
    assert corpus.there() == {"unused"} and len(corpus.web.asked) == 1
    assert cli.main(corpus.flags("--archives", "unused")) == 0
    assert len(corpus.web.asked) == 1
    assert "127.0.0.1/unused.tgz: already there, verified, 600.0 kB in" in caplog.messages[-1]


@pytest.mark.parametrize("how", ["flag", "environment"])
def test_a_mirror_folder_needs_no_network(corpus, monkeypatch, caplog, how) -> None:
    caplog.set_level("INFO")
    corpus.write("http://nowhere.invalid/")
    (corpus.folder / "nowhere.invalid").symlink_to(corpus.web.folder)
    if how == "environment":
        monkeypatch.setenv("AXENAT_MIRROR", str(corpus.folder))
    assert cli.main(corpus.flags(*(["--mirror", str(corpus.folder)] if how == "flag" else []))) == 0
    assert {path.name for path in (corpus.out / "nowhere.invalid").glob("*.tgz")} == {
        "train.tgz",
        "more.tgz",
        "dev.tgz",
    }
    assert any(f"copied from {corpus.folder}/nowhere.invalid/train.tgz" in line for line in caplog.messages)
    assert corpus.web.asked == []


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--archives", "dev", "tran"], "each name in --archives must be one of train, more, dev, unused, got 'tran'"),
        (["--workers", "0"], "--workers must be >= 1, got 0"),
        (["--mirror", "nowhere"], "mirror nowhere: is neither a folder that exists nor an address"),
    ],
)
def test_wrong_flags_are_one_sentence_and_nothing_is_fetched(corpus, capsys, flags, sentence) -> None:
    assert cli.main(corpus.flags(*flags)) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1
    assert corpus.web.asked == [] and not corpus.out.exists()


def test_a_recipe_that_is_not_there_is_one_sentence(corpus, capsys) -> None:
    for recipe, words in [("none.yaml", "none.yaml: no such file"), ("none", "recipe must be one of ")]:
        assert cli.main(["fetch", "--recipe", recipe, "--out", str(corpus.out)]) == 2
        assert words in capsys.readouterr().err


def test_killed_in_the_middle_it_goes_on_with_the_bytes_that_are_there(corpus) -> None:
    released = threading.Event()
    corpus.web.next("train.tgz", Answer(hold_after=(200_000, released)))
    part = corpus.path("train").with_name("train.tgz.part")
    process = corpus.start("--archives", "train")
    wait_until(lambda: part.exists() and part.stat().st_size == 200_000)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    released.set()
    assert not corpus.path("train").exists()
    assert cli.main(corpus.flags("--archives", "train")) == 0
    assert corpus.web.asked[-1].headers["range"] == "bytes=200000-"
    assert corpus.there() == {"train"} and not part.exists()


def test_an_interrupt_stops_it_at_once_although_the_server_is_silent(corpus) -> None:
    """Neither the server nor the patience of a download ends within the minute that is given to it."""
    released = Silence()
    for name in NAMES:
        corpus.web.always(f"{name}.tgz", Answer(hold_after=(1000, released)))
    process = corpus.start()
    parts = [corpus.path(name).with_name(f"{name}.tgz.part") for name in ("train", "more", "dev")]
    wait_until(lambda: all(part.exists() and part.stat().st_size for part in parts))
    process.send_signal(signal.SIGINT)
    try:
        said = process.communicate(timeout=55)[1]
    finally:
        process.kill()
        released.set()
    assert len(corpus.web.asked) == 3, "nothing was asked for again"
    assert process.returncode == 130 and "Traceback" not in said
    assert corpus.there() == set()


def test_a_file_that_may_not_grow_is_one_sentence_and_its_part_is_gone_on_with(corpus) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))

    process = corpus.start("--archives", "train", preexec_fn=limit)
    said = process.communicate()[1]
    part = corpus.path("train").with_name("train.tgz.part")
    last = said.splitlines()[-1]
    assert process.returncode == 2 and "Traceback" not in said
    assert last == f"axenat fetch: {part}: File too large; make room and run the same command again"
    assert part.stat().st_size == 100_000 and not corpus.path("train").exists()
    assert cli.main(corpus.flags("--archives", "train")) == 0
    assert corpus.web.asked[-1].headers["range"] == "bytes=100000-" and corpus.there() == {"train"}


def test_a_disk_that_is_too_small_is_told_before_the_download(corpus) -> None:
    private = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "--mount")
    if not shutil.which("unshare") or subprocess.run([*private, "true"], capture_output=True).returncode:
        pytest.skip("no file system of one's own can be mounted here")
    corpus.out.mkdir()
    script = 'mount -t tmpfs -o size=300k none "$1"; shift; exec "$@"'
    process = corpus.start("--archives", "train", launcher=(*private, "sh", "-c", script, "sh", str(corpus.out)))
    said = process.communicate()[1]
    assert process.returncode == 2
    assert said.startswith(f"axenat fetch: {corpus.path('train')}.part: needs 500.0 kB but its disk has ")
    assert said.count("\n") == 1 and corpus.web.asked == []


def test_mirrors_that_are_named_take_the_place_of_those_in_the_environment(corpus, monkeypatch, caplog) -> None:
    caplog.set_level("INFO")
    corpus.write("http://nowhere.invalid/")
    (corpus.folder / "nowhere.invalid").symlink_to(corpus.web.folder)
    damaged = corpus.folder / "damaged"
    for name in NAMES:
        (damaged / "nowhere.invalid").mkdir(parents=True, exist_ok=True)
        (damaged / "nowhere.invalid" / f"{name}.tgz").write_bytes(b"other")
    for of_environment in (f"{damaged}", "neither a folder nor an address"):
        shutil.rmtree(corpus.out, ignore_errors=True)
        monkeypatch.setenv("AXENAT_MIRROR", of_environment)
        assert cli.main(corpus.flags("--archives", "dev", "--mirror", str(corpus.folder))) == 0
        assert f"copied from {corpus.folder}/nowhere.invalid/dev.tgz" in caplog.messages[-1]


@pytest.mark.parametrize("how", ["flag", "environment"])
def test_of_several_mirrors_the_first_that_has_an_archive_gives_it(corpus, monkeypatch, caplog, how) -> None:
    caplog.set_level("INFO")
    corpus.write("http://nowhere.invalid/")
    places = [corpus.folder / name for name in ("empty", "one", "two")]
    for place in places:
        (place / "nowhere.invalid").mkdir(parents=True)
        if place.name != "empty":
            shutil.copy(corpus.web.folder / "dev.tgz", place / "nowhere.invalid")
    mirrors = list(map(str, places))
    if how == "environment":
        monkeypatch.setenv("AXENAT_MIRROR", ",".join(mirrors))
    flags = ["--mirror", *mirrors] if how == "flag" else []
    assert cli.main(corpus.flags("--archives", "dev", *flags)) == 0
    assert f"copied from {places[1]}/nowhere.invalid/dev.tgz" in caplog.messages[-1]
