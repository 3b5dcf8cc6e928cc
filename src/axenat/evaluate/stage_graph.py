"""The stages of a study as a graph that fits on a telephone: one box a stage, with its number of jobs."""

from collections.abc import Mapping
from html import escape

WIDTH, HEIGHT = 112, 38  # of a box
COLUMNS, ROWS = (0, 128, 256), 66  # left edges; distance of rows
# Column and row of each stage; the line runs from left to right, row by row.
PLACES = {
    "fetch": (0, 0), "download": (1, 0), "clean": (2, 0),
    "learn_subwords": (2, 1), "encode": (1, 1),
    "train": (1, 2), "average": (2, 2), "tune": (2, 3),
    "gather": (0, 2), "distil": (0, 3),
    "speed": (0, 4), "translate": (1, 4), "choose": (2, 4),
    "analyse": (0, 5), "score": (1, 5), "summarise": (2, 5),
    "tables": (0, 6), "figures": (1, 6), "report": (2, 6),
}  # fmt: skip
ARROWS = (
    ("fetch", "download"), ("download", "clean"), ("clean", "learn_subwords"), ("clean", "encode"),
    ("learn_subwords", "encode"), ("encode", "train"), ("train", "average"), ("average", "tune"), ("tune", "distil"),
    ("distil", "gather"), ("gather", "encode"), ("tune", "translate"), ("tune", "choose"), ("translate", "score"),
    ("translate", "analyse"), ("score", "summarise"), ("choose", "summarise"), ("analyse", "figures"),
    ("score", "tables"), ("score", "figures"), ("analyse", "tables"), ("summarise", "report"), ("tables", "report"),
    ("figures", "report"), ("tune", "speed"), ("speed", "tables"),
)  # fmt: skip
BACK = {("tune", "distil"), ("distil", "gather"), ("gather", "encode")}  # the only way back: a corpus variant
BELOW, BESIDE = {("tables", "report")}, {("speed", "tables")}  # around the box that stands between them


def stage_graph(jobs: Mapping[str, int]) -> str:
    """An SVG for the body of a page, in its colours; stages without jobs are pale."""
    bottom = max(row for _, row in PLACES.values()) * ROWS + HEIGHT + 26
    label = "jobs of each stage: " + ", ".join(f"{stage} {jobs.get(stage, 0)}" for stage in PLACES)
    parts = [
        f'<svg class="stages" viewBox="-12 -4 384 {bottom}" role="img" aria-label="{escape(label)}">',
        *(_arrow(start, end, jobs) for start, end in ARROWS),
        *(_box(stage, jobs.get(stage, 0)) for stage in PLACES),
        "</svg>",
    ]
    return "\n".join(parts)


def _corner(stage: str) -> tuple[float, float]:
    column, row = PLACES[stage]
    return COLUMNS[column], row * ROWS


def _box(stage: str, count: int) -> str:
    x, y = _corner(stage)
    number = f"{count:,} job{'' if count == 1 else 's'}" if count else "not needed"
    label = escape(stage.replace("_", " "))
    return (
        f'<g class="stage{"" if count else " idle"}"><rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="7"/>'
        f'<text x="{x + WIDTH / 2:g}" y="{y + 16}">{label}</text>'
        f'<text class="count" x="{x + WIDTH / 2:g}" y="{y + 31}">{number}</text></g>'
    )


def _arrow(start: str, end: str, jobs: Mapping[str, int]) -> str:
    kind = "arrow" + (" back" if (start, end) in BACK else "") + ("" if jobs.get(start) and jobs.get(end) else " idle")
    (x0, y0), (x1, y1) = _corner(start), _corner(end)
    if (start, end) in BESIDE:
        line, head = f"M{x0} {y0 + HEIGHT / 2:g}h-9V{y1 + HEIGHT / 2:g}h7", (x1 - 2, y1 + HEIGHT / 2, 1, 0)
    elif (start, end) in BELOW:
        line = f"M{x0 + WIDTH / 2:g} {y0 + HEIGHT}v14H{x1 + WIDTH / 2:g}v-12"
        head = (x1 + WIDTH / 2, y1 + HEIGHT + 2, 0, -1)
    elif y0 == y1:
        forth = 1 if x1 > x0 else -1
        line = f"M{x0 + WIDTH * (forth > 0):g} {y0 + HEIGHT / 2:g}H{x1 + WIDTH * (forth < 0) - 2 * forth:g}"
        head = (x1 + WIDTH * (forth < 0) - 2 * forth, y1 + HEIGHT / 2, forth, 0)
    else:
        down = 1 if y1 > y0 else -1
        shift = 26 * ((x0 > x1) - (x0 < x1))  # several arrows meet at a box: not in one point
        x_start, x_end = x0 + WIDTH / 2 - shift, x1 + WIDTH / 2 + shift
        y_start, y_end = y0 + HEIGHT * (down > 0), y1 + HEIGHT * (down < 0) - 2 * down
        middle = (y_start + y_end) / 2
        line = f"M{x_start:g} {y_start:g}C{x_start:g} {middle:g} {x_end:g} {middle:g} {x_end:g} {y_end:g}"
        head = (x_end, y_end, 0, down)
    return f'<path class="{kind}" d="{line}"/>{_head(kind, *head)}'


def _head(kind: str, x: float, y: float, across: int, down: int) -> str:
    """A triangle whose tip is here."""
    back_x, back_y = x - 7 * across, y - 7 * down
    left, right = (f"{back_x + side * down:g} {back_y + side * across:g}" for side in (-3.5, 3.5))
    return f'<path class="{kind} head" d="M{x:g} {y:g}L{left}L{right}Z"/>'
