"""Sampling what the demo corpus says: the dials for length and difficulty are at the top."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from axenat.data.grammar import Clause, Meaning, NounPhrase, english, german
from axenat.data.lattice import Lattice, count
from axenat.data.lexicon import (
    ADJECTIVES,
    COMMENTS,
    COORDINATING,
    DEGREES,
    INVERTED,
    NEVER_FIRST,
    NOUNS,
    PLACES,
    PLURAL,
    SECOND,
    SINGULAR,
    SUBORDINATING,
    TIMES,
    Adjective,
    Connector,
    Noun,
)
from axenat.data.verbs import ALONE, PAST, PRESENT, PROGRESSIVE, WITH_PEOPLE, WITH_THINGS, Predicate

# More clauses make longer sentences; more fronting in English leaves fewer changes of order in German.
NUM_CLAUSES = {1: 0.9, 2: 0.1}
TENSES = {PRESENT: 0.6, PROGRESSIVE: 0.2, PAST: 0.2}
PREDICATES = {WITH_THINGS: 0.5, WITH_PEOPLE: 0.3, ALONE: 0.2}
FIRST_TIME, LATER_TIME = 0.95, 0.3  # chance of a time in the first clause, in a later one
PLACE, COMMENT = 0.3, 0.35
FRONTED = 0.95  # chance that English puts a time, place or comment first
SUBORDINATE, SUBORDINATE_FIRST = 0.5, 0.3
PRONOUN, BE_CLAUSE, BE_THING = 0.5, 0.4, 0.7  # in later clauses
KIN, POSSESSOR, PLURAL_NOUN = 0.5, 0.15, 0.35
PERSON_ADJECTIVE, THING_ADJECTIVE, DEGREE = 0.4, 0.55, 0.3
MIN_TRANSLATIONS, MAX_WORDS = 12, 16  # German translations, English words

Item = TypeVar("Item")


def sample_sentence(rng: random.Random) -> tuple[str, Lattice]:
    """An English sentence and its translations, tokenised, without full stop, within the limits above."""
    while True:
        meaning = _meaning(rng)
        source = english(meaning)
        if len(source.split()) <= MAX_WORDS:
            translations = german(meaning)
            if count(translations) >= MIN_TRANSLATIONS:
                return source, translations


def _meaning(rng: random.Random) -> Meaning:
    tense = _weighted(rng, TENSES)
    size = _weighted(rng, NUM_CLAUSES)
    connectors: list[Connector] = []
    for _ in range(size - 1):
        after_subordinate = bool(connectors) and connectors[-1] in SUBORDINATING
        pool = SUBORDINATING if rng.random() < SUBORDINATE and not after_subordinate else COORDINATING
        fitting = [other for other in pool if tense in other.tenses and other not in connectors]
        connectors.append(rng.choice(fitting))
    inverted = size == 2 and connectors[0] in SUBORDINATING and rng.random() < SUBORDINATE_FIRST
    clauses = [_first_clause(rng, tense)]
    if inverted:
        clauses[0] = replace(clauses[0], front="")
    for connector in connectors:
        clauses.append(_later_clause(rng, tense, connector, clauses))
    return Meaning(tense, tuple(clauses), tuple(connectors), inverted)


def _first_clause(rng: random.Random, tense: str) -> Clause:
    clause = replace(_action(rng, person(rng)), particle=True)
    time = rng.choice(list(TIMES[tense])) if rng.random() < FIRST_TIME else ""
    return _fronted(rng, replace(clause, time=time, comment=_comment(rng)))


def _later_clause(rng: random.Random, tense: str, connector: Connector, earlier: list[Clause]) -> Clause:
    topic = earlier[0].subject
    pronoun = topic.pronoun is not None and rng.random() < PRONOUN
    subject = topic if pronoun else person(rng, other_than=topic)
    orders = [order for _, order in connector.german]
    time = ""
    if connector.free and INVERTED not in orders and rng.random() < BE_CLAUSE:
        clause = _description(rng, subject, pronoun)
    else:
        clause = replace(_action(rng, subject), pronoun=pronoun)
        if connector.free and rng.random() < LATER_TIME:
            time = rng.choice([time for time in TIMES[tense] if all(time != other.time for other in earlier)])
    comment = _comment(rng) if connector.free else ""
    clause = replace(clause, time=time, comment=comment, particle=connector.particle)
    return _fronted(rng, clause) if orders == [SECOND] * len(orders) else clause


def _action(rng: random.Random, subject: NounPhrase) -> Clause:
    verbs: tuple[Predicate, ...] = _weighted(rng, PREDICATES)
    predicate = rng.choice(verbs)
    target = None
    if predicate.objects == "person":
        target = person(rng, plurals=predicate.plural_objects, other_than=subject)
    elif predicate.objects:
        target = thing(rng, predicate.objects, plurals=predicate.plural_objects, other_than=subject)
    place = rng.choice(list(PLACES)) if predicate.place and rng.random() < PLACE else ""
    return Clause(subject, predicate=predicate, object=target, place=place)


def _description(rng: random.Random, subject: NounPhrase, pronoun: bool) -> Clause:
    if not pronoun:
        if rng.random() < BE_THING:
            noun = _noun(rng, "thing")
            subject = NounPhrase(noun, "the" if "only" in noun.kinds else rng.choice(("the", "this", "my")))
        subject = replace(subject, adjective=None, degree="")
    degree, adjective = _adjective(rng, subject.noun, always=True)
    return Clause(subject, pronoun, adjective=adjective, degree=degree)


def _fronted(rng: random.Random, clause: Clause) -> Clause:
    comment = clause.comment not in ("", *NEVER_FIRST)
    front = "time" if clause.time else "comment" if comment else "place" if clause.place else ""
    front = front if rng.random() < FRONTED else ""
    return replace(clause, front=front)


def _comment(rng: random.Random) -> str:
    return rng.choice(list(COMMENTS)) if rng.random() < COMMENT else ""


def person(rng: random.Random, plurals: bool = True, other_than: NounPhrase | None = None) -> NounPhrase:
    """One of the people, with an article, or a relative, mine or somebody's."""
    noun = _noun(rng, "kin" if rng.random() < KIN else "people", other_than)
    degree, adjective = _adjective(rng, noun)
    if "kin" in noun.kinds:
        if rng.random() < POSSESSOR:
            owner = _noun(rng, "owner people", other_than)
            return NounPhrase(noun, "the", possessor=NounPhrase(owner, "the", False, degree, adjective))
        return NounPhrase(noun, "my", False, degree, adjective)
    plural = plurals and rng.random() < PLURAL_NOUN
    determiner = rng.choice(list(PLURAL)) if plural else rng.choice(("the", "this", "a"))
    return NounPhrase(noun, determiner, plural, degree, adjective)


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


def _adjective(rng: random.Random, noun: Noun, always: bool = False) -> tuple[str, Adjective | None]:
    if not always and rng.random() >= (THING_ADJECTIVE if "thing" in noun.kinds else PERSON_ADJECTIVE):
        return "", None
    adjective = rng.choice([adjective for adjective in ADJECTIVES if adjective.kinds & noun.kinds])
    degree = rng.choice(list(DEGREES)) if adjective.graded and rng.random() < DEGREE else ""
    return degree, adjective


def _weighted(rng: random.Random, weights: Mapping[Item, float]) -> Item:
    return rng.choices(list(weights), list(weights.values()))[0]
