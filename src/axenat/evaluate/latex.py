"""A printed table as LaTeX: a float to `\\input` into a paper that loads booktabs and nothing else."""

import re

from axenat.evaluate.table_text import PrintedTable

ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}\allowbreak{}",  # signatures are long
    "δ": r"$\delta$", "λ": r"$\lambda$", "ε": r"$\varepsilon$", "ℓ": r"$\ell$", "≤": r"$\leq$", "±": r"$\pm$",
    "✓": r"$\surd$",
}  # fmt: skip


def to_latex(table: PrintedTable, label: str) -> str:
    """Notes stand below in small print."""
    columns = "".join("r" if numeric else "l" for numeric in table.numeric)
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        r"\small",
        rf"\caption{{{inline_latex(table.title)}. {inline_latex(table.caption)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        _row([rf"\textbf{{{inline_latex(cell)}}}" for cell in table.labels]),
        r"\midrule",
        *(_row(list(map(inline_latex, cells))) for cells in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\smallskip{{\footnotesize {inline_latex(note)}}}" for note in table.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    """A bracket at the start of a line would be read as an option of the one before."""
    return " & ".join(f"{{{cell}}}" if cell.startswith("[") else cell for cell in cells) + r" \\"


def inline_latex(text: str) -> str:
    """The two marks that tables use, `code` and **bold**, in text whose special characters are escaped."""
    escaped = "".join(ESCAPES.get(letter, letter) for letter in text)
    coded = re.sub(r"`([^`]+)`", r"\\texttt{\1}", escaped)
    return re.sub(r"\*\*([^*]+)\*\*", r"\\textbf{\1}", coded)
