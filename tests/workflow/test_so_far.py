"""What a study that cannot be finished leaves behind."""

STUDY = """
study: empty
corpora:
  own: {source_language: en, target_language: de, folder: text}
runs:
  ce: {corpus: own, objective: {name: masked}}
"""


def test_an_empty_test_set_ends_in_a_report_that_says_so(workshop):
    text = workshop.folder / "text"
    text.mkdir()
    for split, lines in {"train": "a b .\n" * 9, "valid": "a .\n", "test": ""}.items():
        for language in ("en", "de"):
            (text / f"{split}.{language}").write_text(lines)
    study = workshop.overlay(STUDY)
    done = workshop.snakemake("--cores", "1", "data/own/test.en", "--configfile", study)
    assert done.returncode != 0
    assert "What there is so far, and what is missing: results/so-far/report.html" in done.stdout + done.stderr
    page = (workshop.folder / "results/so-far/report.html").read_text()
    top = page[: page.index('id="overview"')]
    assert "axenat download: text/test.en is empty; a corpus needs at least one pair" in top
    assert "results/runs/ce: no such folder; the run has not begun" in top
    assert "No scores" in page and "Traceback" not in page
