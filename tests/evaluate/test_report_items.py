from axenat.evaluate.drawing import Drawing
from axenat.evaluate.report_items import ShownFigure, ShownTable, items
from axenat.evaluate.table_text import PrintedTable


def table(name: str, caption: str) -> ShownTable:
    return ShownTable(
        name=name, table=PrintedTable(title=name.title(), caption=caption, labels=(), numeric=(), rows=())
    )


def figure(name: str) -> ShownFigure:
    return ShownFigure(drawing=Drawing(name=name, caption=""))


def test_table_and_figure_of_one_name_are_one_item_and_the_papers_order_holds() -> None:
    tables = [
        table("decodings", "Ours."),
        table("repetitions", "Study x, repeats (paper, Table 9)."),
        table("lengths", "Study x, lengths (paper, Table 8)."),
        table("systems", "Study x, something (paper, Table 3)."),
    ]
    found = items(tables, [figure(name) for name in ("training", "confidence", "lengths", "axe_against_ce")])
    assert [(item.name, item.place) for item in found] == [
        ("axe_against_ce", "Table 2"), ("systems", "Table 3"), ("lengths", "Table 8"), ("confidence", "Figure 3"),
        ("repetitions", "Table 9"), ("decodings", ""), ("training", ""),
    ]  # fmt: skip
    by_name = {item.name: item for item in found}
    assert by_name["lengths"].table and by_name["lengths"].figure
    assert by_name["systems"].title == "Beside other systems" and by_name["confidence"].title == "Position confidence"
