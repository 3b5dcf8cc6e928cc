"""The grammar of the demo corpus: a sampled meaning, its English sentence, and the lattice of its German translations."""

from dataclasses import dataclass

from axenat.data.lattice import Lattice, choice, sequence
from axenat.data.lexicon import (
    ADJECTIVE_ENDINGS,
    COMMENTS,
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
from axenat.data.verbs import BE, FUTURE, PAST, PROGRESSIVE, GermanVerb, Predicate

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
    """Without a predicate it says that the subject is `degree` `adjective`; `front` names what English puts first."""

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
    words = {"comment": clause.comment, "place": clause.place, "time": clause.time}
    front = words.pop(clause.front, "")
    if clause.predicate:
        verb = f"{verb} {clause.predicate.after} {english_phrase(clause.object) if clause.object else ''}"
    elif clause.adjective:
        verb = f"{verb} {clause.degree} {clause.adjective.english}"
    parts = [front, subject, auxiliary, words.get("comment", ""), verb, words.get("place", ""), words.get("time", "")]
    return " ".join(" ".join(parts).split())


def _english_verb(predicate: Predicate | None, tense: str, plural: bool) -> tuple[str, str]:
    if predicate is None:
        past, present = ("were", "are") if plural else ("was", "is")
        return ("will", "be") if tense == FUTURE else (past if tense == PAST else present, "")
    if tense == FUTURE:
        return "will", predicate.base
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
    first, *rest = meaning.clauses
    if meaning.inverted:
        options = [(words.removeprefix(", "), order) for words, order in meaning.connectors[0].german if order == LAST]
        before = choice(*(words for words, _ in options))
        return sequence(before, german_clause(rest[0], meaning.tense, LAST), ",", german_clause(first, meaning.tense, INVERTED))
    parts = [german_clause(first, meaning.tense, SECOND)]
    closing = False  # whether a subordinate clause must be closed with a comma
    for connector, clause in zip(meaning.connectors, rest, strict=True):
        grouped: dict[str, list[str]] = {}
        for words, order in connector.german:
            grouped.setdefault(order, []).append(f", {words.removeprefix(', ')}" if closing else words)
        parts.append(
            choice(
                *(
                    sequence(choice(*words), german_clause(clause, meaning.tense, order))
                    for order, words in grouped.items()
                )
            )
        )
        closing = LAST in grouped
    return sequence(*parts)


def german_clause(clause: Clause, tense: str, order: str) -> Lattice:
    """The clause with its finite verb second (own first phrase), `inverted` (first phrase given before) or last."""
    verbs = clause.predicate.german if clause.predicate else (BE,)
    forms = [(verb, *form) for verb in verbs for form in verb.forms(tense, clause.subject.plural)]
    if order == LAST:
        return choice(*(sequence(*middle(clause, verb, ""), last) for verb, _, _, last in forms))

    def after(front: str) -> Lattice:
        return choice(*(sequence(finite, *middle(clause, verb, front), tail) for verb, finite, tail, _ in forms))

    if order == INVERTED:
        return after("")
    adverbials = _adverbials(clause)
    if clause.front:
        return sequence(adverbials[clause.front], after(clause.front))
    orders = [sequence(_subject(clause), after("subject"))]
    if clause.time:
        orders.append(sequence(adverbials["time"], after("time")))
    return choice(*orders)


def middle(clause: Clause, verb: GermanVerb, front: str) -> list[Lattice]:
    """Everything between finite verb (or conjunction) and the end, except what stands in `front`."""
    adverbials = {**_adverbials(clause), "subject": _subject(clause), front: ""}
    subject, comment = adverbials["subject"], adverbials["comment"]
    if clause.pronoun:
        start = [subject, verb.reflexive, comment]
    elif clause.subject.determiner in INDEFINITE:
        start = [verb.reflexive, comment, subject]  # what is new follows the particle
    else:
        start = [verb.reflexive, subject, comment]
    complement: Lattice = verb.complement
    if clause.object:
        complement = sequence(verb.preposition, german_phrase(clause.object, verb.case), verb.complement)
    elif clause.adjective:
        complement = sequence(choice(*DEGREES.get(clause.degree, ("",))), choice(*clause.adjective.german))
    return [*start, adverbials["time"], adverbials["place"], complement]


def _subject(clause: Clause) -> Lattice:
    if clause.pronoun and clause.subject.pronoun:
        return clause.subject.pronoun[1]
    return german_phrase(clause.subject, NOM)


def _adverbials(clause: Clause) -> dict[str, Lattice]:
    times = [times[clause.time] for times in TIMES.values() if clause.time in times]
    comment = COMMENTS.get(clause.comment, PARTICLES if clause.particle else ("",))
    return {
        "time": choice(*times[0]) if times else "",
        "place": choice(*PLACES.get(clause.place, ("",))),
        "comment": choice(*comment),
    }


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
