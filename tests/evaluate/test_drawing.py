import json
import re
from dataclasses import replace
from xml.etree import ElementTree

from axenat.evaluate.drawing import Drawing, to_file
from axenat.evaluate.figure_style import INK, for_page
from axenat.records import as_plain, build

Drawings = dict[str, Drawing]
SVG = "{http://www.w3.org/2000/svg}"


def test_the_json_for_the_page_and_the_file_for_readers_hold_the_same_drawing(drawings: Drawings) -> None:
    for drawing in drawings.values():
        noted = replace(drawing, caption="a < b & c", notes=("Missing: <x>.", "more"))
        for one in (drawing, noted):
            assert build(Drawing, json.loads(json.dumps(as_plain(one))), "drawing") == one
            root = ElementTree.fromstring(to_file(one))
            assert root.get("id") == one.name and root.findtext(f"{SVG}title") == one.caption
            assert tuple(note.text for note in root.iter(f"{SVG}desc")) == one.notes
            bodies = [panel.partition(">")[2] for panel in one.panels]
            assert re.sub(r'<svg class="panel"[^>]*>', "", to_file(one)).count("</svg>") == len(bodies) + 1
            assert all(body in to_file(one) for body in bodies)


def test_a_file_is_xml_whose_panels_lie_inside_it_and_do_not_overlap(drawings: Drawings) -> None:
    for drawing in drawings.values():
        root = ElementTree.fromstring(to_file(drawing))
        panels = [
            [float(panel.get(key, "")) for key in ("x", "y", "width", "height")] for panel in root.findall(f"{SVG}svg")
        ]
        assert len(panels) == len(drawing.panels)
        for x, y, width, height in panels:
            assert x + width <= float(root.get("width", "")) and y + height <= float(root.get("height", ""))
        for place, (x, y, width, height) in enumerate(panels):
            for other_x, other_y, other_width, other_height in panels[:place]:
                apart = x >= other_x + other_width or y >= other_y + other_height
                assert apart or other_x >= x + width or other_y >= y + height


def test_a_figure_without_panels_says_in_words_what_is_missing() -> None:
    drawing = Drawing(name="training", caption="Loss over steps.", notes=("No training curves: <none>.",))
    root = ElementTree.fromstring(to_file(drawing))
    words = " ".join(text.text or "" for text in root.iter(f"{SVG}text"))
    assert words == "Loss over steps. No training curves: <none>."


def test_figures_in_one_page_share_no_ids_and_take_the_colours_of_the_page(drawings: Drawings) -> None:
    panels = [panel for drawing in drawings.values() for panel in drawing.panels]
    bodies = [for_page(panel, 'a "caption" <here>') for panel in panels]
    ids = [found for body in bodies for found in re.findall(r'\bid="([^"]+)"', body)]
    assert len(ids) == len(set(ids))
    for body in bodies:
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', body)) <= set(ids)
        assert INK not in body and "var(--ink)" in body
        assert body.startswith('<svg role="img" aria-label="a &quot;caption&quot; &lt;here>"')


def test_svg_carries_no_date(drawings: Drawings) -> None:
    assert not any("dc:date" in panel for drawing in drawings.values() for panel in drawing.panels)
