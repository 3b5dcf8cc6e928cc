"""The alias goes to the best model on valid, and numbers are compared only if they measure the same."""

from hypothesis import given
from hypothesis import strategies as st

from axenat.serving.champion import Version, why_not_champion

HERE, ELSEWHERE = ("valid", "nrefs:1"), ("other valid", "nrefs:1")


def version(number: int, bleu: float, measure: tuple[str, str] = HERE) -> Version:
    return Version(number=number, run=f"run{number}", bleu=bleu, measure=measure)


@given(st.lists(st.sampled_from([10.0, 20.0, 20.5, 30.0]), min_size=1), st.integers(0, 20))
def test_of_versions_that_compare_one_alone_is_the_champion_and_none_is_better(scores, place) -> None:
    versions = [version(number, bleu) for number, bleu in enumerate(scores, start=1)]
    present = versions[place % len(versions)]
    crowned = [one for one in versions if not why_not_champion(one, versions, present)]
    assert [one.bleu for one in crowned] == [max(scores)]


def test_among_equals_the_oldest_stays() -> None:
    old, new = version(1, 20.0), version(2, 20.0)
    assert why_not_champion(new, [old, new], old) == "version 1 (run1, valid BLEU 20.00) is as good, and older"
    assert why_not_champion(old, [old, new], old) == ""


def test_other_valid_text_is_no_rival_and_yields_to_nobody() -> None:
    mine, other = version(2, 20.0), version(1, 90.0, ELSEWHERE)
    assert why_not_champion(mine, [mine, other], None) == ""
    assert why_not_champion(mine, [mine, other], other).startswith("the champion, version 1, was measured on other")
    assert why_not_champion(mine, [mine], 7).startswith("the champion, version 7, ")  # registered by hand
