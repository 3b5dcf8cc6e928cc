"""The grammar of the demo corpus: from a meaning to its English sentence and all its German ones."""

from dataclasses import dataclass

from axenat.data.lattice import Lattice, choice, sequence
from axenat.data.lexicon import (
    ACC,
    ADJECTIVE_ENDINGS,
    COMMENTS,
    DAT,
    DEGREES,
    GENDERS,
    INDEFINITE,
    INVERTED,
    LAST,
    NOM,
    PARTICLES,
    PLACES,
    PLURAL,
    PRONOUNS,
    SECOND,
    SINGULAR,
    STEMS,
    TIMES,
    Adjective,
    Connector,
    Noun,
)
from axenat.data.verbs import BE, PAST, PROGRESSIVE, GermanVerb, Predicate


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """`determiner`, `degree` and `adjective` are English; `possessor` follows: `the car of my brother`."""

    noun: Noun
    determiner: str
    plural: bool = False
    degree: str = ""
    adjective: Adjective | None = None
    possessor: "NounPhrase | None" = None

    @property
    def pronoun(self) -> tuple[str, str] | None:
        """English and German pronoun; none for `das Mädchen`, where German speakers disagree."""
        return PRONOUNS.get("plural" if self.plural else self.noun.german[0].gender)


@dataclass(frozen=True, slots=True)
class Clause:
    """Without a predicate it says that the subject is `adjective`; `front` names what English puts first."""

    subject: NounPhrase
    pronoun: bool = False
    predicate: Predicate | None = None
    object: NounPhrase | None = None
    degree: str = ""
    adjective: Adjective | None = None
    time: str = ""
    place: str = ""
    comment: str = ""
    front: str = ""
    particle: bool = False


@dataclass(frozen=True, slots=True)
class Meaning:
    """Clauses and the connectors between them; with `inverted`, the connector and its clause come first."""

    tense: str
    clauses: tuple[Clause, ...]
    connectors: tuple[Connector, ...] = ()
    inverted: bool = False


# ---- English ----


def english(meaning: Meaning) -> str:
    """The one English sentence, tokenised, without its full stop."""
    clauses = [english_clause(clause, meaning.tense) for clause in meaning.clauses]
    if meaning.inverted:
        return f"{meaning.connectors[0].english} {clauses[1]} , {clauses[0]}"
    joined = clauses[0]
    for connector, clause in zip(meaning.connectors, clauses[1:], strict=True):
        joined += f" {connector.english} {clause}"
    return joined


def english_clause(clause: Clause, tense: str) -> str:
    """Front, subject, auxiliary, comment, verb, object, place, time."""
    subject = clause.subject.pronoun[0] if clause.pronoun and clause.subject.pronoun else english_phrase(clause.subject)
    auxiliary, verb = _english_verb(clause.predicate, tense, clause.subject.plural)
    if clause.predicate:
        verb = f"{verb} {clause.predicate.after} {english_phrase(clause.object) if clause.object else ''}"
    elif clause.adjective:
        verb = f"{verb} {clause.degree} {clause.adjective.english}"
    adverbials = {"comment": clause.comment, "place": clause.place, "time": clause.time, "": ""}
    front = adverbials[clause.front]
    adverbials[clause.front] = ""
    comment, place, time, _ = adverbials.values()
    return " ".join(f"{front} {subject} {auxiliary} {comment} {verb} {place} {time}".split())


def _english_verb(predicate: Predicate | None, tense: str, plural: bool) -> tuple[str, str]:
    if predicate is None:
        past, present = ("were", "are") if plural else ("was", "is")
        return past if tense == PAST else present, ""
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
    """All German translations, tokenised, without the full stop."""
    first, *later = meaning.clauses
    if meaning.inverted:
        words = [words.removeprefix(", ") for words, order in meaning.connectors[0].german if order == LAST]
        subordinate = german_clause(later[0], meaning.tense, LAST)
        return sequence(choice(*words), subordinate, ",", german_clause(first, meaning.tense, INVERTED))
    parts = [german_clause(first, meaning.tense, SECOND)]
    closing = False  # whether the clause before is subordinate and must be closed with a comma
    for connector, clause in zip(meaning.connectors, later, strict=True):
        options = []
        for order in dict.fromkeys(order for _, order in connector.german):
            words = [words for words, its_order in connector.german if its_order == order]
            if closing:
                words = list(dict.fromkeys(f", {name.removeprefix(', ')}" for name in words))
            options.append(sequence(choice(*words), german_clause(clause, meaning.tense, order)))
        parts.append(choice(*options))
        closing = any(order == LAST for _, order in connector.german)
    return sequence(*parts)


def german_clause(clause: Clause, tense: str, order: str) -> Lattice:
    """The clause with its finite verb second, second after a phrase given before it (`inverted`), or last."""
    verbs = clause.predicate.german if clause.predicate else (BE,)
    forms = [(verb, *form) for verb in verbs for form in verb.forms(tense, clause.subject.plural)]
    phrases = _phrases(clause)

    def after(front: str) -> Lattice:
        left = {**phrases, front: ""}
        return choice(*(sequence(finite, *middle(clause, verb, left), tail) for verb, finite, tail, _ in forms))

    if order == LAST:
        return choice(*(sequence(*middle(clause, verb, phrases), last) for verb, _, _, last in forms))
    if order == INVERTED:
        return after("")
    fronts = [clause.front] if clause.front else ["subject", "time"] if clause.time else ["subject"]
    return choice(*(sequence(phrases[front], after(front)) for front in fronts))


def _phrases(clause: Clause) -> dict[str, Lattice]:
    """The parts of the clause that can move, and its object in the cases that its verbs may ask for."""
    times = [times[clause.time] for times in TIMES.values() if clause.time in times]
    pronoun = clause.subject.pronoun if clause.pronoun else None
    phrases: dict[str, Lattice] = {
        "subject": pronoun[1] if pronoun else german_phrase(clause.subject, NOM),
        "particle": choice(*PARTICLES) if clause.particle and not clause.comment else "",
        "time": choice(*times[0]) if times else "",
        "comment": choice(*COMMENTS.get(clause.comment, ("",))),
        "place": choice(*PLACES.get(clause.place, ("",))),
    }
    if clause.object:
        phrases |= {case: german_phrase(clause.object, case) for case in (ACC, DAT) if _used(clause, case)}
    return phrases


def _used(clause: Clause, case: str) -> bool:
    return clause.predicate is not None and any(verb.case == case for verb in clause.predicate.german)


def middle(clause: Clause, verb: GermanVerb, phrases: dict[str, Lattice]) -> list[Lattice]:
    """Everything between the finite verb (or the conjunction) and the end, in German order."""
    known: list[Lattice] = [verb.reflexive, phrases["subject"]]
    new: Lattice = ""
    if clause.pronoun:
        known.reverse()
    elif clause.subject.determiner in INDEFINITE:
        new = known.pop()  # what is new follows particle, time and comment
    complement = sequence(verb.preposition, phrases.get(verb.case, ""), verb.complement)
    if clause.adjective:
        complement = sequence(choice(*DEGREES.get(clause.degree, ("",))), choice(*clause.adjective.german))
    return [
        *known,
        phrases["particle"],
        phrases["time"],
        phrases["comment"],
        new,
        phrases["place"],
        complement,
    ]


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
    return choice(german_phrase(phrase.possessor, "GEN"), sequence("von", german_phrase(phrase.possessor, "DAT")))
