import re
from itertools import combinations
from xml.etree import ElementTree

from axenat.evaluate.stage_graph import ARROWS, PLACES, stage_graph
from axenat.jobs import jobs_of
from axenat.study import parse_study
from tests.studies import study


def test_every_stage_of_a_study_is_drawn_with_its_number_of_jobs() -> None:
    jobs = jobs_of(parse_study(study()))
    assert jobs.keys() == PLACES.keys()
    root = ElementTree.fromstring(stage_graph({**jobs, "train": 1234}))
    boxes = [[text.text for text in group.iter("text")] for group in root.iter("g")]
    assert ["train", "1,234 jobs"] in boxes and ["report", "1 job"] in boxes and ["fetch", "not needed"] in boxes
    assert len(boxes) == len(PLACES)


def test_boxes_do_not_overlap_and_lie_inside_the_picture() -> None:
    svg = stage_graph({})
    left, top, width, height = map(float, re.search(r'viewBox="([^"]+)"', svg)[1].split())
    boxes = [
        tuple(map(float, box)) for box in re.findall(r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', svg)
    ]
    for x, y, wide, high in boxes:
        assert left <= x and x + wide <= left + width and top <= y and y + high <= top + height
    for (x, y, wide, high), (other_x, other_y, _, _) in combinations(boxes, 2):
        assert abs(x - other_x) >= wide or abs(y - other_y) >= high


def test_arrows_join_stages_that_there_are() -> None:
    assert {stage for arrow in ARROWS for stage in arrow} == set(PLACES)
