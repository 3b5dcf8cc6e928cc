"""Memory of a job that grows with its texts, as Snakemake itself works it out for files that are there."""

import os

import pytest
import yaml

from tests.support.planned_jobs import jobs_in

TARGET = "results/corpora/demo/subwords/codes.source"
MIB = 2**20  # what Snakemake calls a megabyte of a file
# Source and target, which are holes that fill no disk: three times their size is above, and below, what is asked for.
LARGE, SMALL = (1_500, 2_500), (3, 5)
ASKED = 1_500


@pytest.mark.parametrize(
    ("sizes", "attempt", "most", "expected"),
    [
        (LARGE, 1, None, 3 * sum(LARGE)),
        (LARGE, 2, None, 2 * 3 * sum(LARGE)),
        (LARGE, 3, 30_000, 30_000),
        (SMALL, 2, None, 2 * ASKED),
    ],
)
def test_subwords_ask_for_three_times_their_texts_and_for_more_at_each_attempt(
    workshop, sizes, attempt, most, expected
) -> None:
    folder = workshop.folder / "results/corpora/demo"
    for name in ("clean", "config"):
        (folder / name).mkdir(parents=True)
    (folder / "config/subwords.yaml").touch()
    for side, size in zip(("source", "target"), sizes, strict=True):
        path = folder / f"clean/train.{side}"
        path.touch()
        os.truncate(path, size * MIB)
    site = {"resources": {"learn_subwords": {"mem_mb": ASKED}}, **({"most_mem_mb": most} if most else {})}
    (workshop.folder / "config/site.yaml").write_text(yaml.safe_dump(site))
    done = workshop.snakemake("-n", TARGET, "--allowed-rules", "learn_subwords", "--attempt", str(attempt))
    assert done.returncode == 0, done.stderr
    (job,) = jobs_in(done.stdout)
    assert job.resources["mem_mb"] == str(expected)
