"""Every decoding of every run of a study, side by side."""

from axenat.evaluate.decodings import SIZES, spelled_out
from axenat.evaluate.study_record import StudyRecord
from axenat.evaluate.table_parts import caption, scores_on_test, unscored
from axenat.evaluate.table_text import Column, Table, interval, mark, number, text


def decodings(study: StudyRecord) -> Table:
    """Every decoding of every run, its own first; the paper has 5 length candidates throughout."""
    own = {(score["run"], score["decode"]) for score in study.scores}
    keys = (
        "run", "decode", *SIZES, "bleu", "bleu_low", "bleu_high", "repetition", "repetition_words", "valid_share",
        "length_ratio", "engine", "precision", "chosen",
    )  # fmt: skip
    scores = scores_on_test(study, study.decodings)
    rows = [
        {**{key: score.get(key) for key in keys}, "tuned": (score["run"], score["decode"]) in own}
        for score in map(spelled_out, scores)
    ]
    what = "decodings on test, each with the λ or length penalty that was tuned on valid for the marked one of its run"
    return Table(
        caption=caption(study, what, "decodings", scores),
        columns=[
            text("run", "run"),
            Column(label="decoding", keys=("decode", *SIZES), show=lambda row: str(row["decode"]), numeric=False),
            mark("tuned", "tuned"),
            number("BLEU", "bleu", ".2f"),
            interval("95 % interval", "bleu_low", "bleu_high"),
            number("repeated", "repetition", ".2%"),
            number("repeated words", "repetition_words", ".2%"),
            number("valid", "valid_share", ".1%"),
            number("length ratio", "length_ratio", ".3f"),
            text("engine", "engine", "precision"),
            mark("chosen", "chosen"),
        ],
        rows=rows,
        notes=unscored(study),
    )
