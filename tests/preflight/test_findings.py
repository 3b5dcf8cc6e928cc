import pytest

from axenat.preflight.findings import Finding, as_list, ok, problem, warning


def test_each_finding_is_a_line_and_what_to_do_stands_below() -> None:
    lines = as_list([ok("disk", "large"), warning("tracking", "away", "wait"), problem("x", "missing", "make it")])
    assert lines == [
        "ok       disk      large",
        "warning  tracking  away",
        "                   -> wait",
        "problem  x         missing",
        "                   -> make it",
    ]


def test_a_complaint_without_advice_is_none_of_ours() -> None:
    with pytest.raises(AssertionError):
        Finding("problem", "disk", "full")
