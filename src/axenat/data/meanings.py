"""Sampling what the demo corpus says: the dials for length and difficulty are at the top."""

import random
from collections.abc import Iterable, Mapping
from typing import TypeVar

from axenat.data.grammar import Meaning, NounPhrase, english, german
from axenat.data.lattice import Lattice, count
from axenat.data.lexicon import (
    ADJECTIVES,
    COMMENTS,
    DEGREES,
    NEVER_FIRST,
    NOUNS,
    PLACES,
    PLURAL,
    SINGULAR,
    TIMES,
    Adjective,
    Noun,
)
from axenat.data.verbs import ALONE, PAST, PRESENT, PROGRESSIVE, WITH_PEOPLE, WITH_THINGS, Predicate

# All but the limits are chances. More fronting in English leaves fewer changes of order in German.
TENSES = {PRESENT: 0.6, PROGRESSIVE: 0.2, PAST: 0.2}
PREDICATES = {WITH_THINGS: 0.5, WITH_PEOPLE: 0.3, ALONE: 0.2}
TIME, PLACE, COMMENT = 1.0, 0.6, 0.8
FRONTED = 0.85  # that English puts a time, place or comment first, where there is one
KIN, POSSESSOR, PLURAL_NOUN = 0.5, 0.05, 0.35
PERSON_ADJECTIVE, THING_ADJECTIVE, DEGREE = 0.4, 0.55, 0.3
MIN_TRANSLATIONS, MAX_WORDS = 12, 18  # limits: German translations, English words

Item = TypeVar("Item")


def sample_sentence(rng: random.Random) -> tuple[str, Lattice]:
    """An English sentence and its translations, tokenised, without full stop, within the limits above."""
    while True:
        meaning = _meaning(rng)
        source, translations = english(meaning), german(meaning)
        if len(source.split()) <= MAX_WORDS and count(translations) >= MIN_TRANSLATIONS:
            return source, translations


def _meaning(rng: random.Random) -> Meaning:
    tense = _weighted(rng, TENSES)
    verbs: tuple[Predicate, ...] = _weighted(rng, PREDICATES)
    predicate = rng.choice(verbs)
    subject = person(rng)
    time = _maybe(rng, TIME, TIMES[tense])
    comment = _maybe(rng, COMMENT, COMMENTS)
    place = _maybe(rng, PLACE, PLACES) if predicate.place else ""
    fronts = {"time": time, "comment": comment if comment not in NEVER_FIRST else "", "place": place}
    front = next((name for name, words in fronts.items() if words), "")
    return Meaning(
        tense=tense,
        subject=subject,
        predicate=predicate,
        object=_object(rng, predicate, subject),
        time=time,
        comment=comment,
        place=place,
        front=front if rng.random() < FRONTED else "",
    )


def _object(rng: random.Random, predicate: Predicate, subject: NounPhrase) -> NounPhrase | None:
    if predicate.objects == "person":
        return person(rng, predicate.plural_objects, other_than=subject)
    if predicate.objects:
        return thing(rng, predicate.objects, predicate.plural_objects, other_than=subject)
    return None


def person(rng: random.Random, plurals: bool = True, other_than: NounPhrase | None = None) -> NounPhrase:
    """One of the people, with an article, or a relative, mine or somebody's."""
    noun = _noun(rng, "kin" if rng.random() < KIN else "people", other_than)
    if "kin" in noun.kinds and rng.random() < POSSESSOR:
        owner = _noun(rng, "owner people", other_than)
        return NounPhrase(noun, "the", possessor=NounPhrase(owner, "the", False, *_adjective(rng, owner)))
    if "kin" in noun.kinds:
        return NounPhrase(noun, "my", False, *_adjective(rng, noun))
    plural = plurals and rng.random() < PLURAL_NOUN
    determiner = rng.choice(list(PLURAL) if plural else ["the", "this", "a"])
    return NounPhrase(noun, determiner, plural, *_adjective(rng, noun))


def thing(rng: random.Random, kind: str, plurals: bool, other_than: NounPhrase) -> NounPhrase:
    """A thing of this kind, sometimes that of a relative `other_than` the subject."""
    noun = _noun(rng, kind)
    degree, adjective = _adjective(rng, noun)
    plural = plurals and noun.plural != "" and rng.random() < PLURAL_NOUN
    # `der Stuhl aus Holz meines Bruders` would be clumsy.
    if not plural and rng.random() < POSSESSOR and not any(entry.after for entry in noun.german):
        owner = _noun(rng, "owner kin", other_than)
        return NounPhrase(noun, "the", False, degree, adjective, NounPhrase(owner, "my"))
    determiner = "the" if "only" in noun.kinds else rng.choice(list(PLURAL if plural else SINGULAR))
    return NounPhrase(noun, determiner, plural, degree, adjective)


def _noun(rng: random.Random, kinds: str, other_than: NounPhrase | None = None) -> Noun:
    wanted = frozenset(kinds.split())
    taken = (other_than.noun, other_than.possessor and other_than.possessor.noun) if other_than else ()
    return rng.choice([noun for noun in NOUNS if wanted <= noun.kinds and noun not in taken])


def _adjective(rng: random.Random, noun: Noun) -> tuple[str, Adjective | None]:
    if rng.random() >= (THING_ADJECTIVE if "thing" in noun.kinds else PERSON_ADJECTIVE):
        return "", None
    adjective = rng.choice([adjective for adjective in ADJECTIVES if adjective.kinds & noun.kinds])
    return _maybe(rng, DEGREE, DEGREES) if adjective.graded else "", adjective


def _maybe(rng: random.Random, chance: float, words: Iterable[str]) -> str:
    return rng.choice(list(words)) if rng.random() < chance else ""


def _weighted(rng: random.Random, weights: Mapping[Item, float]) -> Item:
    return rng.choices(list(weights), list(weights.values()))[0]
