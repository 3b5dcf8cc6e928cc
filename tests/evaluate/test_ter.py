"""The fast TER counts what sacrebleu counts, sentence by sentence."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.lib_ter import translation_edit_rate
from sacrebleu.metrics.ter import TER

from axenat.evaluate.ter import num_edits, ter_counts
from axenat.files import UserError
from tests.texts import GOOD, POOR, REFERENCES

few_words = st.lists(st.sampled_from("abcde"), max_size=14)


@given(few_words, few_words)
@example(["a"] * 70, ["a", "b"])  # far off the diagonal
@example(["a", "b"], ["b"] * 130)
@example(list("abcab" * 16), list("cabba" * 16))  # more shifts than are tried
@settings(deadline=None)
def test_edits_are_those_of_sacrebleu(words: list[str], reference: list[str]) -> None:
    assert num_edits(words, reference) == translation_edit_rate(words, reference)[0]


@pytest.mark.parametrize("hypotheses", [GOOD, POOR])
def test_every_row_is_that_of_sacrebleu(hypotheses: list[str]) -> None:
    theirs = np.array(TER()._extract_corpus_statistics(hypotheses, REFERENCES))
    np.testing.assert_array_equal(ter_counts(hypotheses, REFERENCES).rows, theirs)


def test_a_missing_reference_is_refused() -> None:
    with pytest.raises(UserError, match="2 hypotheses but 1 lines"):
        ter_counts(["a", "b"], [["a"]])


def test_errors_are_shared_among_the_words_of_a_mean_reference() -> None:
    """References of one length would not tell their mean from the first."""
    references = [REFERENCES[0], [" ".join(line.split()[: 3 + place % 5]) for place, line in enumerate(REFERENCES[1])]]
    assert any(len(one.split()) != len(other.split()) for one, other in zip(*references, strict=True))
    theirs = np.array(TER()._extract_corpus_statistics(GOOD, references))
    np.testing.assert_array_equal(ter_counts(GOOD, references).rows, theirs)
