"""The verbs of the demo corpus and what goes with them.

A German entry reads like a dictionary: the infinitive after all that goes with it, then the third person
singular and the participle. `ACC` and `DAT` stand for the object, `an-` is a separable prefix, `(ist)` marks
verbs of motion: `ACC an- rufen ruft gerufen`, `nach Hause gehen geht gegangen (ist)`.
"""

from dataclasses import dataclass

PRESENT, PROGRESSIVE, PAST = "present", "progressive", "past"


@dataclass(frozen=True, slots=True)
class GermanVerb:
    """Forms are kept without the separable prefix; `complement` are fixed words after the object."""

    singular: str
    participle: str
    plural: str
    prefix: str = ""
    preposition: str = ""
    case: str = ""
    complement: str = ""
    auxiliary: tuple[str, str] = ("hat", "haben")

    def form(self, tense: str, plural: bool) -> tuple[str, str]:
        """The finite verb, and what stands at the end of the sentence; the past is the perfect, as in speech."""
        if tense == PAST:
            return self.auxiliary[plural], self.prefix + self.participle
        return self.plural if plural else self.singular, self.prefix


@dataclass(frozen=True, slots=True)
class Predicate:
    """An English verb (base, third person, ing form, past), the words after it, and its translations."""

    base: str
    third: str
    ing: str
    past: str
    after: str
    objects: str  # the kind of noun it takes, or "" for none
    german: tuple[GermanVerb, ...]
    place: bool = True  # a place may be added
    stative: bool = False  # has no ing form

    @property
    def plural_objects(self) -> bool:
        """Only the accusative plural is in the lexicon."""
        return all(verb.case == "ACC" for verb in self.german)


def parse_verb(entry: str) -> GermanVerb:
    """Read one dictionary entry as described at the top."""
    words = entry.split()
    auxiliary = ("hat", "haben")
    if words[-1] == "(ist)":
        auxiliary, words = ("ist", "sind"), words[:-1]
    *words, infinitive, singular, participle = words
    prefix = words.pop()[:-1] if words and words[-1].endswith("-") else ""
    case = next((word for word in words if word in ("ACC", "DAT")), "")
    before, after = (words[: words.index(case)], words[words.index(case) + 1 :]) if case else ([], words)
    return GermanVerb(
        singular=singular,
        participle=participle,
        plural=infinitive,
        prefix=prefix,
        preposition=" ".join(before),
        case=case,
        complement=" ".join(after),
        auxiliary=auxiliary,
    )


def _predicate(english: str, objects: str, *german: str, place: bool = True, stative: bool = False) -> Predicate:
    base, third, ing, past, *after = english.split()
    verbs = tuple(parse_verb(entry) for entry in german)
    return Predicate(base, third, ing, past, " ".join(after), objects, verbs, place, stative)


WITH_THINGS = (
    _predicate("buy buys buying bought", "goods", "ACC kaufen kauft gekauft", "ACC erwerben erwirbt erworben"),
    _predicate("look looks looking looked for", "goods", "ACC suchen sucht gesucht"),
    _predicate("look looks looking looked at", "thing", "ACC betrachten betrachtet betrachtet"),
    _predicate("repair repairs repairing repaired", "fixable", "ACC reparieren repariert repariert"),
    _predicate("clean cleans cleaning cleaned", "fixable", "ACC reinigen reinigt gereinigt"),
    _predicate("need needs needing needed", "goods", "ACC brauchen braucht gebraucht", place=False, stative=True),
    _predicate(
        "open opens opening opened", "door", "ACC öffnen öffnet geöffnet", "ACC auf- machen macht gemacht", place=False
    ),
    _predicate("close closes closing closed", "door", "ACC schließen schließt geschlossen", place=False),
)
WITH_PEOPLE = (
    _predicate(
        "call calls calling called",
        "person",
        "ACC an- rufen ruft gerufen",
        "mit DAT telefonieren telefoniert telefoniert",
    ),
    _predicate("help helps helping helped", "person", "DAT helfen hilft geholfen"),
    _predicate("visit visits visiting visited", "person", "ACC besuchen besucht besucht"),
    _predicate("thank thanks thanking thanked", "person", "DAT danken dankt gedankt", place=False),
    _predicate("talk talks talking talked to", "person", "mit DAT sprechen spricht gesprochen"),
    _predicate("look looks looking looked after", "person", "ACC betreuen betreut betreut"),
)
ALONE = (
    _predicate("take takes taking took a break", "", "pausieren pausiert pausiert", "Pause machen macht gemacht"),
    _predicate("go goes going went for a walk", "", "spazieren gehen geht gegangen (ist)", place=False),
    _predicate("go goes going went shopping", "", "ein- kaufen kauft gekauft", place=False),
    _predicate(
        "go goes going went home",
        "",
        "nach Hause gehen geht gegangen (ist)",
        "heim- gehen geht gegangen (ist)",
        place=False,
    ),
    _predicate("start starts starting started work", "", "mit der Arbeit beginnen beginnt begonnen"),
    _predicate("cook cooks cooking cooked", "", "kochen kocht gekocht"),
)
