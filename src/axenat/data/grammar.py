"""The grammar of the demo corpus: from a meaning to its English sentence and all its German ones."""

from dataclasses import dataclass

from axenat.data.lattice import Lattice, choice, sequence, usually
from axenat.data.lexicon import (
    ADJECTIVE_ENDINGS,
    COMMENTS,
    DAT,
    DEGREES,
    GEN,
    GENDERS,
    INDEFINITE,
    NOM,
    PARTICLES,
    PLACES,
    PLURAL,
    SINGULAR,
    STEMS,
    TIMES,
    Adjective,
    Noun,
)
from axenat.data.verbs import PAST, PROGRESSIVE, Predicate

SUBJECT_FIRST = 0.1  # that German begins with the subject where English ends with the time; else with the time


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """`determiner`, `degree` and `adjective` are English; `possessor` follows: `the car of my brother`."""

    noun: Noun
    determiner: str
    plural: bool = False
    degree: str = ""
    adjective: Adjective | None = None
    possessor: "NounPhrase | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a sentence says; `front` names what English puts before the subject: `time`, `comment` or `place`."""

    tense: str
    subject: NounPhrase
    predicate: Predicate
    object: NounPhrase | None = None
    time: str = ""
    comment: str = ""
    place: str = ""
    front: str = ""


# ---- English ----


def english(meaning: Meaning) -> str:
    """The one English sentence, tokenised, without its full stop."""
    adverbials = {"": "", "time": meaning.time, "comment": meaning.comment, "place": meaning.place}
    front = adverbials[meaning.front]
    adverbials[meaning.front] = ""
    auxiliary, verb = _english_verb(meaning.predicate, meaning.tense, meaning.subject.plural)
    parts = (
        front,
        english_phrase(meaning.subject),
        auxiliary,
        adverbials["comment"],
        verb,
        meaning.predicate.after,
        english_phrase(meaning.object) if meaning.object else "",
        adverbials["place"],
        adverbials["time"],
    )
    return " ".join(part for part in parts if part)


def _english_verb(predicate: Predicate, tense: str, plural: bool) -> tuple[str, str]:
    if tense == PAST:
        return "", predicate.past
    if tense == PROGRESSIVE and not predicate.stative:
        return "are" if plural else "is", predicate.ing
    return "", predicate.base if plural else predicate.third


def english_phrase(phrase: NounPhrase) -> str:
    """Determiner, degree, adjective, noun, possessor."""
    noun = phrase.noun.plural if phrase.plural else phrase.noun.english
    rest = " ".join(f"{phrase.degree} {phrase.adjective.english if phrase.adjective else ''} {noun}".split())
    determiner = "an" if phrase.determiner == "a" and rest[0] in "aeiou" else phrase.determiner
    possessor = f" of {english_phrase(phrase.possessor)}" if phrase.possessor else ""
    return f"{determiner} {rest}{possessor}"


# ---- German ----


def german(meaning: Meaning) -> Lattice:
    """All German translations, tokenised, without the full stop: the finite verb is the second phrase."""
    phrases: dict[str, Lattice] = {
        "subject": german_phrase(meaning.subject, NOM),
        **{particle: choice("", particle) for particle in PARTICLES},
        "time": choice(*TIMES[meaning.tense][meaning.time]) if meaning.time else "",
        "comment": choice(*COMMENTS[meaning.comment]) if meaning.comment else "",
        "place": choice(*PLACES[meaning.place]) if meaning.place else "",
    }

    def beginning_with(front: str) -> Lattice:
        return sequence(phrases[front], _after_front(meaning, {**phrases, front: ""}))

    if meaning.time and not meaning.front:
        return usually(beginning_with("time"), beginning_with("subject"), SUBJECT_FIRST)
    return beginning_with(meaning.front or "subject")


def _after_front(meaning: Meaning, phrases: dict[str, Lattice]) -> Lattice:
    """Finite verb, all that has not moved to the front, and the rest of the verb, for every translation of the verb."""
    first, second = PARTICLES
    order = [first, "subject", second, "time", "comment", "place"]
    if meaning.subject.determiner in INDEFINITE:  # what is new comes later
        order = [first, second, "time", "comment", "subject", "place"]
    middle = [phrases[name] for name in order]
    options = []
    for verb in meaning.predicate.german:
        finite, end = verb.form(meaning.tense, meaning.subject.plural)
        target = german_phrase(meaning.object, verb.case) if meaning.object else ""
        options.append(sequence(finite, *middle, verb.preposition, target, verb.complement, end))
    return choice(*options)


def german_phrase(phrase: NounPhrase, case: str) -> Lattice:
    """Determiner, degree, adjective and noun in agreement; synonyms of another gender take other endings."""
    options = []
    for gender in GENDERS:
        nouns = [noun for noun in phrase.noun.german if noun.gender == gender]
        if nouns:
            determiners, ending = _determiner(phrase, case, gender)
            names = (f"{noun.form(case, phrase.plural)} {noun.after}".strip() for noun in nouns)
            options.append(sequence(choice(*determiners), _attribute(phrase, ending), choice(*names)))
    return sequence(choice(*options), _possessor(phrase))


def _determiner(phrase: NounPhrase, case: str, gender: str) -> tuple[tuple[str, ...], str]:
    if phrase.plural:
        return PLURAL[phrase.determiner]
    column = GENDERS.index(gender)
    ending = ADJECTIVE_ENDINGS[phrase.determiner][case].split()[column]
    return (SINGULAR[phrase.determiner][case].split()[column],), ending


def _attribute(phrase: NounPhrase, ending: str) -> Lattice:
    if phrase.adjective is None:
        return ""
    inflected = []
    for adjective in phrase.adjective.german:
        *before, stem = adjective.split()
        inflected.append(" ".join([*before, STEMS.get(stem, stem) + ending]))
    return sequence(choice(*DEGREES.get(phrase.degree, ("",))), choice(*inflected))


def _possessor(phrase: NounPhrase) -> Lattice:
    if phrase.possessor is None:
        return ""
    return choice(german_phrase(phrase.possessor, GEN), sequence("von", german_phrase(phrase.possessor, DAT)))
