"""What several seeds of one run give: mean and standard deviation, never the best of them."""

from axenat.evaluate.seeds import over_seeds
from axenat.evaluate.study_record import StudyRecord
from axenat.evaluate.table_text import Column, Row, Table, number, text
from axenat.evaluate.tables import NOTHING, signatures
from axenat.systems.registry import label_of

COLUMNS = (
    ("BLEU", "bleu", ".2f"),
    ("repeated", "repetition", ".2%"),
    ("repeated words", "repetition_words", ".2%"),
    ("valid", "valid_share", ".1%"),
    ("length ratio", "length_ratio", ".3f"),
)


def seeds(study: StudyRecord) -> Table:
    """One row for each repeated run and decoding."""
    rows = [
        {
            **record,
            "model": label_of(record["objective"]),
            "runs": " ".join(record["runs"]),
        }
        for record in over_seeds(study.decodings or study.scores)
        if record["split"] == "test"
    ]
    signed = [{"signature": row["signature"], "run": row["group"]} for row in rows]
    signature = f" Signature: `{'; '.join(signatures(signed))}`." if signed else ""
    return Table(
        caption=f"Study {study.name}, mean ± standard deviation (n - 1) on test over seeds.{signature}",
        columns=[
            text("run", "group"),
            text("model", "model"),
            text("target side", "target_side"),
            number("δ", "skip_target_penalty", "g"),
            text("decoding", "decode"),
            number("seeds", "num_seeds", "d"),
            *(_with_spread(*column) for column in COLUMNS),
            text("runs", "runs"),
        ],
        rows=rows,
        notes=[] if rows else ["No run of this study has scores of several seeds."],
    )


def _with_spread(label: str, key: str, style: str) -> Column:
    mean, spread = f"{key}_mean", f"{key}_sd"

    def show(row: Row) -> str:
        parts = [format(row[name], style) for name in (mean, spread) if row[name] is not None]
        return " ± ".join(parts) or NOTHING

    return Column(label=label, keys=(mean, spread), show=show)
