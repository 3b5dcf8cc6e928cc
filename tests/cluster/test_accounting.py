"""The same with an accounting database, where accounts are real and Slurm remembers what jobs used."""

from collections.abc import Iterator

import pytest

from tests.cluster import lab
from tests.cluster.study import ClusterStudy


@pytest.fixture(scope="module")
def accounting() -> Iterator[None]:
    lab.stop()
    lab.start(accounting=True)
    yield
    lab.stop()


def test_a_wrong_account_is_one_sentence(accounting, tmp_path) -> None:
    study = ClusterStudy(tmp_path).write()
    (tmp_path / "config/site.yaml").write_text("account: moon")
    done = study.run("snakemake", "--profile", "slurm", "all", "--configfile", "study.yaml")
    assert done.returncode == 2
    assert (
        "axenat: account: root has no account moon, but lab, root; correct account in config/site.yaml" in done.stderr
    )
    assert "Traceback" not in done.stderr and not (tmp_path / "results").exists()


def test_jobs_run_and_what_they_used_is_told(accounting, tmp_path) -> None:
    study = ClusterStudy(tmp_path).write()
    (tmp_path / "config/site.yaml").write_text("account: lab")
    study.finish("results/corpora/demo/raw/train.safetensors")
    done = study.run("axenat", "usage", "--configfile", "study.yaml")
    assert done.returncode == 0, done.stderr
    assert "encode" in done.stdout and "Slurm tells of 4 jobs" in done.stdout, done.stdout
