"""What people read under each label of a table is the number that programs read in its CSV, and LaTeX has the same."""

import re
from pathlib import Path

import pytest

from axenat.files import read_lines, read_text
from tests.support.evaluation_cells import Row, read_csv
from tests.support.evaluation_study import Study

DASH = "-"
PUBLISHED = "published, WMT'14 EN-DE"
INTERVAL = {"95 % interval": "[bleu_low:.2f, bleu_high:.2f]"}
BESIDE = {
    "as the paper scores": "likewise:.2f",
    PUBLISHED: "published:.2f",
    "difference": "published_difference:+.2f",
}
LENGTH_PAIR = {
    "CE": "ce_bleu:.2f",
    "CE published": "ce_published:.2f",
    "difference": "ce_published_difference:+.2f",
    "AXE": "axe_bleu:.2f",
    "AXE published": "axe_published:.2f",
    "difference ": "axe_published_difference:+.2f",
}
# Of each table its labels, and what of a row stands below: keys with their formats; a second column of one label has
# a space at its end here.
COLUMNS: dict[str, dict[str, str]] = {
    "axe_against_ce": {
        "corpus": "corpus",
        "target side": "target_side",
        "model": "model",
        "BLEU": "bleu:.2f",
        **INTERVAL,
        "above CE": "gain:+.2f",
        **BESIDE,
        "run": "run",
    },
    "systems": {
        "corpus": "corpus",
        "model": "model",
        "iterations": "iterations",
        "ours": "bleu:.2f",
        **INTERVAL,
        **BESIDE,
        "run": "run",
    },
    "target_sides": {
        "corpus": "corpus",
        "model": "model",
        "raw": "raw_bleu:.2f",
        "95 % interval": "[raw_bleu_low:.2f, raw_bleu_high:.2f]",
        "as the paper scores": "raw_likewise:.2f",
        PUBLISHED: "raw_published:.2f",
        "difference": "raw_published_difference:+.2f",
        "distilled": "distilled_bleu:.2f",
        "95 % interval ": "[distilled_bleu_low:.2f, distilled_bleu_high:.2f]",
        "as the paper scores ": "distilled_likewise:.2f",
        f"{PUBLISHED} ": "distilled_published:.2f",
        "difference ": "distilled_published_difference:+.2f",
        "distilled above raw": "difference:+.2f",
        "runs": "raw_run, distilled_run",
    },
    "training_objectives": {
        "corpus": "corpus",
        "target side": "target_side",
        "input tokens": "observe",
        "loss function": "score",
        "δ": "skip_target_penalty:g",
        "BLEU": "bleu:.2f",
        "λ": "length_multiplier:g",
        PUBLISHED: "published:.2f",
        "difference": "published_difference:+.2f",
        "run": "run",
    },
    "skip_target_penalty": {
        "grid": "grid",
        "δ": "skip_target_penalty:g",
        "BLEU": "bleu:.2f",
        "published": "published:.2f",
        "difference": "published_difference:+.2f",
        "λ": "length_multiplier:g",
        "skip target": "skip_target_rate:.2%",
        "published ": "skip_target_published:.2%",
        "difference ": "skip_target_published_difference:+.2%",
        "skip prediction": "skip_prediction_rate:.2%",
        "run": "run",
        "chosen": "chosen",
    },
    "lengths": {
        "corpus": "corpus",
        "target side": "target_side",
        "sentences": "num_sentences:.0f",
        **LENGTH_PAIR,
        "left-to-right": "teacher_bleu:.2f",
        "runs": "ce_run, axe_run, teacher_run",
    },
    "confidence": {
        "corpus": "corpus",
        "target side": "target_side",
        "sentences": "size",
        "number": "num_sentences:.0f",
        "model": "model",
        **{f"{offset:+d}": f"at_{offset}:.3f" for offset in (-3, -2, -1, 1, 2, 3)},
        "0": "at_0:.3f",
        "±1 : 0": "neighbour_to_peak:.2f",
        "published ±1": "published:.2f",
        "published ±1 : 0": "published_to_peak:.2f",
        "run": "run",
    },
    "repetitions": {
        "run": "run",
        "model": "model",
        "target side": "target_side",
        "δ": "skip_target_penalty:g",
        "subwords": "repetition:.2%",
        PUBLISHED: "published:.2%",
        "difference": "published_difference:+.2%",
        "words": "repetition_words:.2%",
        "chosen": "chosen",
    },
    "speed": {
        "run": "run",
        "model": "objective",
        "target side": "target_side",
        "tokens/s": "tokens_per_second:,.0f",
        "ms a step": "step_milliseconds:.1f",
        "time : CE": "time_to_ce:.2f",
        "published time : CE": "published:.1f",
        "training s": "total_seconds:,.0f",
        "decoding": "decode, engine, precision",
        "sentences/s": "sentences_per_second:,.0f",
        "times the teacher": "batches_to_teacher:.1f",
        "ms alone": "latency_milliseconds:.2f",
        "times the teacher, alone": "alone_to_teacher:.1f",
    },
    "decodings": {
        "run": "run",
        "decoding": "decode",
        "tuned": "tuned",
        "BLEU": "bleu:.2f",
        **INTERVAL,
        "repeated": "repetition:.2%",
        "repeated words": "repetition_words:.2%",
        "valid": "valid_share:.1%",
        "length ratio": "length_ratio:.3f",
        "engine": "engine, precision",
        "chosen": "chosen",
    },
    "conventions": {
        "run": "run",
        "corpus": "corpus",
        "sacreBLEU": "sacrebleu:.2f",
        "tokenised BLEU": "tokenised:.2f",
        "chrF2": "chrf:.2f",
        "chosen": "chosen",
    },
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Study(folder=tmp_path_factory.mktemp("study"), seed=3).write_tables(*COLUMNS)


def shown(row: Row, spec: str) -> str:
    """The cell of a row as its format says; a dash where nothing is known."""
    if spec in ("chosen", "tuned"):
        return "✓" if row[spec] == "True" else ""
    parts = [part.strip("[]").partition(":") for part in spec.split(", ")]
    known = [format(float(row[key]), style) if style else row[key] for key, _, style in parts if row[key]]
    joined = ", ".join(known)
    if spec.startswith("["):
        return f"[{joined}]" if len(known) == 2 else DASH
    return joined or DASH


def grid(path: Path) -> tuple[list[str], list[list[str]]]:
    """Labels, the second of two equal ones with a space at its end, and the cells of each row."""
    lines = [line for line in read_lines(path) if line.startswith("|")]
    labels, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [label + " " * (label in labels[:place]) for place, label in enumerate(labels)], rows


@pytest.mark.parametrize("name", COLUMNS)
def test_below_each_label_stands_its_own_number(tables: Path, name: str) -> None:
    labels, rows = grid(tables / f"{name}.md")
    records = read_csv(tables / f"{name}.csv")
    assert set(labels) == {*COLUMNS[name], *(["length"] if name == "lengths" else [])}
    assert records
    for cells, row in zip(rows, records, strict=True):
        for label, cell in zip(labels, cells, strict=True):
            if label == "length":
                end = f" < {row['high']}" if row["high"] else ""
                assert cell == f"{row['low']} ≤ N{end}"
            else:
                assert cell == shown(row, COLUMNS[name][label]), (label, row)


@pytest.mark.parametrize("name", COLUMNS)
def test_latex_has_the_rows_of_the_table_in_its_order(tables: Path, name: str) -> None:
    text = read_text(tables / f"{name}.tex")
    assert rf"\label{{tab:{name}}}" in text
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    _, rows = grid(tables / f"{name}.md")
    for line, cells in zip(body, rows, strict=True):
        # Of each cell its letters and digits.
        wanted = [
            re.findall(r"[\w.+]+", cell.replace("✓", "surd").replace("≤", "leq").replace("<", "textless"))
            for cell in cells
        ]
        found = [re.findall(r"[\w.+]+", part.replace(r"\_", "_")) for part in re.split(r" (?<!\\)& ", line[:-3])]
        assert found == wanted
