"""A table as LaTeX: whatever a cell holds, it is text there and breaks nothing."""

import re

from hypothesis import given
from hypothesis import strategies as st

from axenat.evaluate.latex import ESCAPES, inline_latex, to_latex
from axenat.evaluate.table_text import PrintedTable

cells = st.text(st.characters(categories=["L", "N"], include_characters="\\&%$#_{}~^<>|[]*` -δλ≤±✓"), max_size=12)


def table(*cells: str) -> PrintedTable:
    return PrintedTable(
        title=cells[0], caption=cells[-1], labels=cells, numeric=(True,) * len(cells), rows=(cells, cells), notes=cells
    )


def plain(latex: str) -> str:
    """Without what the escapes put there."""
    for escape in sorted(ESCAPES.values(), key=len, reverse=True):
        latex = latex.replace(escape, "")
    return latex


@given(st.lists(cells, min_size=1, max_size=4))
def test_any_table_has_balanced_environments_and_braces_and_as_many_cells_as_labels(found: list[str]) -> None:
    latex = to_latex(table(*found), "odd")
    opened, closed = (re.findall(rf"\\{word}{{(\w+)}}", latex) for word in ("begin", "end"))
    assert opened == ["table", "tabular"] and closed == ["tabular", "table"]
    assert plain(latex).count("{") == plain(latex).count("}")
    body = [line for line in latex.splitlines() if line.endswith(r" \\")]
    assert len(body) == 3
    for line in body:
        assert plain(line).count("&") == len(found) - 1


@given(cells)
def test_no_special_character_is_left_bare(text: str) -> None:
    left = plain(re.sub(r"\\text(tt|bf){", "", inline_latex(text)))
    assert not set(left.replace("}", "")) & set("\\&%$#_{~^<>|δλ≤±✓")


def test_marks_become_commands_and_letters_stay() -> None:
    assert inline_latex("`a_b` is **1.5** für λ") == r"\texttt{a\_b} is \textbf{1.5} für $\lambda$"


def test_a_bracket_is_no_option_of_the_line_before() -> None:
    assert "{[1, 2]} & x" in to_latex(table("[1, 2]", "x"), "odd")
