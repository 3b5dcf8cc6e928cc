"""The conventions in which papers report scores, side by side: the same translations give another number in each.

Numbers of two conventions can never be compared: on WMT'14 English-German compound splitting alone adds up to one BLEU.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.chrf import CHRF

from axenat.corpus_config import TextConfig
from axenat.data.text import PLAIN, remove_romanian_diacritics, tokenise
from axenat.evaluate.bleu import bleu_counts
from axenat.evaluate.counts import Counts, count
from axenat.evaluate.ter import ter_counts
from axenat.languages import CHINESE, bleu_tokeniser

_COMPOUND = re.compile(r"(\S)-(\S)")


@dataclass(frozen=True, kw_only=True)
class Text:
    """The same lines twice: as a person writes them, and as words."""

    plain: Sequence[str]
    words: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Convention:
    name: str
    label: str
    compared: str  # which text, in words
    counts: Counts

    def record(self) -> dict[str, Any]:
        """As it stands in score.json; `low` and `high` bound the 95 % bootstrap interval."""
        low, high = self.counts.interval()
        return {
            "label": self.label,
            "value": self.counts.score(),
            "low": low,
            "high": high,
            "signature": self.counts.signature,
            "compared": self.compared,
        }


def in_both_forms(lines: Sequence[str], language: str, rules: TextConfig = PLAIN) -> Text:
    return Text(plain=lines, words=[tokenise(line, language, rules) for line in lines])


def conventions(
    hypothesis: Text, references: Sequence[Text], language: str, rules: TextConfig = PLAIN
) -> Iterator[Convention]:
    """Those that apply to the language; `rules` made the words of both sides."""
    plain, words = ([getattr(text, form) for text in references] for form in ("plain", "words"))
    yield Convention(
        name="sacrebleu",
        label="sacreBLEU",
        compared=_main_text(language, rules),
        counts=bleu_counts(hypothesis.plain, plain, tokenize=bleu_tokeniser(language)),
    )
    yield Convention(
        name="tokenised",
        label="tokenised BLEU",
        compared=f"words, both sides tokenised alike: {_word_rules(language, rules)}; no smoothing",
        counts=_bleu_of_words(hypothesis.words, words),
    )
    if language == "de":
        yield Convention(
            name="compound_split",
            label="compound-split BLEU",
            compared="the words of tokenised BLEU, with the parts of a-b set apart on both sides; no smoothing",
            counts=_bleu_of_words(hypothesis.words, words, split_compounds),
        )
    if language == "ro":
        removed = "; the corpus itself removes them, so that this is tokenised BLEU" if rules.remove_diacritics else ""
        yield Convention(
            name="no_diacritics",
            label="tokenised BLEU, no diacritics",
            compared=f"the words of tokenised BLEU without diacritics on both sides{removed}; no smoothing",
            counts=_bleu_of_words(hypothesis.words, words, remove_romanian_diacritics),
        )
    yield Convention(
        name="chrf",
        label="chrF2",
        compared="detokenised text, character n-grams up to 6, recall weighing twice as much as precision",
        counts=count(CHRF(), hypothesis.plain, plain),
    )
    yield Convention(
        name="ter",
        label="TER (lower is better)",
        compared="detokenised text in lower case, edits per 100 reference words"
        + (", a Chinese character being a word" if language in CHINESE else ""),
        counts=ter_counts(hypothesis.plain, plain, language),
    )


def split_compounds(words: str) -> str:
    """`a-b` becomes `a ##AT##-##AT## b`, as in fairseq's and tensor2tensor's scripts: only the first hyphen of a-b-c.

    What the tokeniser has set apart already (`@-@`) stays as it is.
    """
    return " ".join(word if word == "@-@" else _COMPOUND.sub(r"\1 ##AT##-##AT## \2", word) for word in words.split(" "))


def _bleu_of_words(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], change: Callable[[str], str] = str
) -> Counts:
    """Without smoothing, as the scorer of Mask-Predict: it matters only where no 4-gram of a whole set is right."""
    changed = [list(map(change, lines)) for lines in (hypotheses, *references)]
    return bleu_counts(changed[0], changed[1:], tokenize="none", smooth_method="none")


def _main_text(language: str, rules: TextConfig) -> str:
    tokenizer = bleu_tokeniser(language)
    if language in CHINESE:
        return f"detokenised text, Chinese characters apart as sacrebleu does it ({tokenizer})"
    bare = "; the corpus removes diacritics, so that translations have none and references have"
    return f"detokenised text, split into words by sacrebleu ({tokenizer})" + (
        bare if _is_bare(language, rules) else ""
    )


def _word_rules(language: str, rules: TextConfig) -> str:
    """In words, what the tokeniser did to both sides."""
    if language == "zh":
        return "segmented by jieba"
    said = {
        "punctuation normalised": rules.normalise_punctuation,
        "hyphens split (@-@)": rules.aggressive_hyphens,
        "escaped (&apos;)": rules.escape,
        "commas below Romanian letters": language == "ro" and rules.normalise_romanian,
        "no diacritics": _is_bare(language, rules),
        "truecasing undone": rules.truecase,
    }
    return ", ".join(["Moses tokeniser", *(words for words, holds in said.items() if holds)])


def _is_bare(language: str, rules: TextConfig) -> bool:
    return language == "ro" and rules.remove_diacritics
