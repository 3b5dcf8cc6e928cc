"""How many pairs each corpus has and why others were left out, beside what others counted."""

from axenat.evaluate.study_record import CorpusRecord, StudyRecord
from axenat.evaluate.table_text import Column, Row, Table, number, text

WHOLE = ",d"


def corpora(study: StudyRecord) -> Table:
    """One row for each split; train alone is filtered."""
    reasons = list(dict.fromkeys(name for corpus in study.corpora for one in corpus.counts for name in one["dropped"]))
    rows: list[Row] = [
        {
            "corpus": corpus.name,
            "split": counts["split"],
            "pairs": counts["pairs"],
            "kept": counts["kept"],
            **{f"dropped_{reason}": counts["dropped"].get(reason) for reason in reasons},
            **_expected(corpus, counts["split"]),
        }
        for corpus in study.corpora
        for counts in corpus.counts
    ]
    columns: list[Column] = [text("corpus", "corpus"), text("split", "split")]
    columns += [number("pairs", "pairs", WHOLE), number("others count", "expected_pairs", WHOLE)]
    columns += [number("kept", "kept", WHOLE), number("others kept", "expected_kept", WHOLE)]
    columns += [number(reason.replace("_", " "), f"dropped_{reason}", WHOLE) for reason in reasons]
    return Table(
        caption=f"Study {study.name}, pairs as published, pairs trained on, and why the others were left out.",
        columns=columns,
        rows=rows,
        notes=[note for corpus in study.corpora for note in _notes(corpus)]
        or ["No corpus of this study is there yet."],
    )


def _expected(corpus: CorpusRecord, split: str) -> dict[str, int | None]:
    if split == "train":
        expected = corpus.origin.get("expected", {})
        return {"expected_pairs": expected.get("raw"), "expected_kept": expected.get("clean")}
    parts = corpus.origin.get("parts", {}).get(split, {}).values()
    return {"expected_pairs": next((part["pairs"] for part in parts), None), "expected_kept": None}


def _notes(corpus: CorpusRecord) -> list[str]:
    origin = corpus.origin
    if not origin:
        return [f"Missing, origin of {corpus.name}."]
    notes = [f"{corpus.name}: {origin.get('title', 'unknown')}."]
    train = [split["parts"] for split in corpus.raw if split["split"] == "train"]
    if train and len(train[0]) > 1:
        notes.append(f"{corpus.name}, train: {_listed(train[0])}.")
    parts = [part for split in corpus.raw for part in split["parts"].values()]
    if odd := sum(part.get("undecodable", 0) for part in parts):
        notes.append(f"{corpus.name}: {odd:,} lines are not UTF-8; what cannot be read there became U+FFFD.")
    if lacking := sum(part.get("incomplete", 0) for part in parts):
        notes.append(f"{corpus.name}: {lacking:,} units lack one of the languages and are not among the pairs.")
    if origin.get("expected", {}).get("source"):
        notes.append(f"{corpus.name}, what others count: {origin['expected']['source']}.")
    return notes


def _listed(parts: dict[str, dict[str, int]]) -> str:
    return ", ".join(f"{name} {part['pairs']:,}" for name, part in parts.items())
