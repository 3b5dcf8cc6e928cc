"""Snakemake distils in shards: one that is killed or lost is made again, and no other is."""

import pytest

from tests import distilling

pytestmark = pytest.mark.slow
TARGET = "results/corpora/demo/distilled/train.target"
# Corpus and teacher are made here in a moment, so Snakemake must not look for what they came from.
ONLY = ("--configfile", "config/tiny.yaml", "shards.yaml", "--allowed-rules", "configure_corpus", "distil", "gather")


class Shards:
    def __init__(self, workshop, shards: int) -> None:
        self.workshop, self.corpus = workshop, workshop.folder / "results/corpora/demo"
        self.text = workshop.folder / TARGET
        (workshop.folder / "shards.yaml").write_text(f"corpora: {{demo: {{distil: {{shards: {shards}}}}}}}")
        distilling.write_corpus(self.corpus / "clean")
        distilling.teacher(workshop.folder / "results/runs/teacher")

    def snakemake(self, *arguments: str):
        return self.workshop.snakemake(TARGET, "--cores", "2", *ONLY, *arguments)

    def plan(self) -> dict[str, set[str]]:
        return self.workshop.plan(TARGET, *ONLY)

    def made(self) -> dict[str, int]:
        """When each shard was made."""
        return {path.name: path.stat().st_mtime_ns for path in (self.corpus / "distilled/shards").glob("*-of-*.*")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, new_workshop):
    """In one shard."""
    shards = Shards(new_workshop(tmp_path_factory.mktemp("whole")), 1)
    done = shards.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    return shards


def test_a_killed_or_lost_shard_is_made_again_and_no_other(whole, workshop, tmp_path_factory, monkeypatch):
    shards = Shards(workshop, 3)
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", distilling.killer(tmp_path_factory.mktemp("killer"), "2-of-3", chunks=1))
        assert shards.snakemake("--keep-going").returncode != 0
    before = shards.made()
    others = {f"{number}-of-3.{end}" for number in (1, 3) for end in ("target", "json")}
    assert before.keys() == others | {"2-of-3.target.parts"}
    assert shards.plan() == {"distil": {"corpus=demo, shard=2-of-3"}, "gather": {"corpus=demo"}}
    done = shards.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    after = shards.made()
    assert after.keys() == others | {"2-of-3.target", "2-of-3.json"}
    assert all(after[name] == before[name] for name in others)
    assert shards.text.read_bytes() == whole.text.read_bytes()

    (shards.corpus / "distilled/shards/3-of-3.target").unlink()
    assert shards.plan() == {}, "what was gathered still stands"
    shards.text.unlink()
    assert shards.plan() == {"distil": {"corpus=demo, shard=3-of-3"}, "gather": {"corpus=demo"}}
