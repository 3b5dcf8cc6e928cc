"""Sampling what the demo corpus says: the dials for length and difficulty are at the top."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from axenat.data.grammar import Clause, Meaning, NounPhrase, german
from axenat.data.lattice import Lattice, count
from axenat.data.lexicon import (
    ADJECTIVES,
    COMMENTS,
    COORDINATING,
    DEGREES,
    NOUNS,
    PLACES,
    PLURAL,
    SECOND,
    SINGULAR,
    SUBORDINATING,
    TIMES,
    Adjective,
    Connector,
)
from axenat.data.verbs import ALONE, FUTURE, PAST, PRESENT, PROGRESSIVE, WITH_PEOPLE, WITH_THINGS

# More clauses make longer sentences; more fronting in English leaves fewer changes of order in German.
NUM_CLAUSES = {1: 0.35, 2: 0.5, 3: 0.15}
TENSES = {PRESENT: 0.45, PROGRESSIVE: 0.15, PAST: 0.25, FUTURE: 0.15}
PREDICATES = ((WITH_THINGS, 0.45), (WITH_PEOPLE, 0.3), (ALONE, 0.25))
FIRST_TIME, LATER_TIME = 0.9, 0.3  # chance of a time in the first clause, in a later one
PLACE, COMMENT = 0.25, 0.25
FRONTED = 0.7  # chance that English puts a time, place or comment first
SUBORDINATE, SUBORDINATE_FIRST = 0.5, 0.3
PRONOUN, BE_CLAUSE = 0.5, 0.2  # in later clauses
ADJECTIVE, DEGREE, PLURAL_NOUN, POSSESSOR = 0.4, 0.3, 0.25, 0.15
MIN_TRANSLATIONS = 24

Item = TypeVar("Item")


def sample_meaning(rng: random.Random) -> tuple[Meaning, Lattice]:
    """A meaning with at least MIN_TRANSLATIONS translations, and those."""
    while True:
        meaning = _meaning(rng)
        lattice = german(meaning)
        if count(lattice) >= MIN_TRANSLATIONS:
            return meaning, lattice


def _meaning(rng: random.Random) -> Meaning:
    tense = _weighted(rng, TENSES)
    size = _weighted(rng, NUM_CLAUSES)
    connectors: list[Connector] = []
    for _ in range(size - 1):
        after_subordinate = bool(connectors) and connectors[-1] in SUBORDINATING
        pool = SUBORDINATING if rng.random() < SUBORDINATE and not after_subordinate else COORDINATING
        connectors.append(rng.choice([connector for connector in pool if tense in connector.tenses]))
    inverted = size == 2 and connectors[0] in SUBORDINATING and rng.random() < SUBORDINATE_FIRST
    clauses = [_first_clause(rng, tense)]
    if inverted:
        clauses[0] = replace(clauses[0], front="", particle=False)
    for connector in connectors:
        clauses.append(_later_clause(rng, tense, connector, clauses))
    return Meaning(tense, tuple(clauses), tuple(connectors), inverted)


def _first_clause(rng: random.Random, tense: str) -> Clause:
    clause = replace(_action(rng, person(rng)), particle=True)
    # The German present tense may stand for the future only because a time says so.
    time = rng.choice(list(TIMES[tense])) if tense == FUTURE or rng.random() < FIRST_TIME else ""
    return _fronted(rng, replace(clause, time=time, comment=_comment(rng)))


def _later_clause(rng: random.Random, tense: str, connector: Connector, earlier: list[Clause]) -> Clause:
    topic = earlier[0].subject
    pronoun = topic.pronoun is not None and rng.random() < PRONOUN
    subject = topic if pronoun else person(rng)
    if connector.free and rng.random() < BE_CLAUSE:
        clause = _description(rng, subject, pronoun)
    else:
        clause = replace(_action(rng, subject), pronoun=pronoun)
    clause = replace(clause, particle=connector.particle)
    if not connector.free:
        return clause
    used = [other.time for other in earlier]
    time = rng.choice([time for time in TIMES[tense] if time not in used]) if rng.random() < LATER_TIME else ""
    clause = replace(clause, time=time, comment=_comment(rng))
    second = all(order == SECOND for _, order in connector.german)
    return _fronted(rng, clause) if second else clause


def _action(rng: random.Random, subject: NounPhrase) -> Clause:
    verbs = _weighted(rng, dict(PREDICATES))
    predicate = rng.choice(verbs)
    if predicate.objects == "person":
        target: NounPhrase | None = person(rng, plurals=predicate.plural_objects)
    else:
        target = thing(rng, predicate.objects, plurals=predicate.plural_objects) if predicate.objects else None
    place = rng.choice(list(PLACES)) if predicate.place and rng.random() < PLACE else ""
    return Clause(subject, predicate=predicate, object=target, place=place)


def _description(rng: random.Random, subject: NounPhrase, pronoun: bool) -> Clause:
    kind = "person" if pronoun or rng.random() < 0.5 else "thing"
    if kind == "thing":
        noun = rng.choice([noun for noun in NOUNS if kind in noun.kinds])
        subject = NounPhrase(noun, rng.choice(("the", "this", "my")))
    else:
        subject = subject if pronoun else replace(subject, adjective=None, degree="")
    degree, adjective = _adjective(rng, kind, chance=1.0)
    return Clause(subject, pronoun, adjective=adjective, degree=degree)


def _fronted(rng: random.Random, clause: Clause) -> Clause:
    filled = [name for name in ("time", "comment", "place") if getattr(clause, name)]
    front = filled[0] if filled and rng.random() < FRONTED else ""
    return replace(clause, front=front)


def _comment(rng: random.Random) -> str:
    return rng.choice(list(COMMENTS)) if rng.random() < COMMENT else ""


def person(rng: random.Random, plurals: bool = True) -> NounPhrase:
    """One of the people, with an article, or a relative, of mine or of somebody."""
    noun = rng.choice([noun for noun in NOUNS if "person" in noun.kinds])
    degree, adjective = _adjective(rng, "person")
    if "kin" in noun.kinds:
        if rng.random() < POSSESSOR:
            owner = rng.choice([noun for noun in NOUNS if "people" in noun.kinds])
            return NounPhrase(noun, "the", possessor=NounPhrase(owner, "the", False, *_adjective(rng, "person")))
        return NounPhrase(noun, "my", False, degree, adjective)
    plural = plurals and rng.random() < PLURAL_NOUN
    determiner = rng.choice(list(PLURAL)) if plural else rng.choice(("the", "this", "a"))
    return NounPhrase(noun, determiner, plural, degree, adjective)


def thing(rng: random.Random, kind: str, plurals: bool) -> NounPhrase:
    """A thing of this kind, sometimes somebody's."""
    noun = rng.choice([noun for noun in NOUNS if kind in noun.kinds])
    degree, adjective = _adjective(rng, "thing")
    plural = plurals and noun.plural != "" and rng.random() < PLURAL_NOUN
    if not plural and rng.random() < POSSESSOR and not any(german.after for german in noun.german):
        owner = rng.choice([noun for noun in NOUNS if "kin" in noun.kinds])
        return NounPhrase(noun, "the", False, degree, adjective, NounPhrase(owner, "my"))
    determiner = rng.choice(list(PLURAL if plural else SINGULAR))
    return NounPhrase(noun, determiner, plural, degree, adjective)


def _adjective(rng: random.Random, kind: str, chance: float = ADJECTIVE) -> tuple[str, Adjective | None]:
    if rng.random() >= chance:
        return "", None
    adjective = rng.choice([adjective for adjective in ADJECTIVES if kind in adjective.kinds])
    degree = rng.choice(list(DEGREES)) if adjective.graded and rng.random() < DEGREE else ""
    return degree, adjective


def _weighted(rng: random.Random, weights: Mapping[Item, float]) -> Item:
    return rng.choices(list(weights), list(weights.values()))[0]
