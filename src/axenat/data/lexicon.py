"""The words of the demo corpus except verbs: nouns, determiners, adjectives, adverbials.

Every entry gives one English word and all its German translations; `a | b` separates alternatives.
To make the corpus easier or harder, delete or add alternatives or entries: nothing else depends on them.
"""

from dataclasses import dataclass

from axenat.data.verbs import PAST, PRESENT, PROGRESSIVE

GENDERS = "mfn"
NOM, ACC, DAT, GEN = "NOM", "ACC", "DAT", "GEN"


@dataclass(frozen=True, slots=True)
class GermanNoun:
    """The forms of a noun that the grammar uses; `after` are words that follow it, as in `Stuhl aus Holz`."""

    gender: str
    nominative: str
    genitive: str
    plural: str
    after: str = ""

    def form(self, case: str, plural: bool) -> str:
        """The noun without its article. A masculine genitive in -n marks a weak noun: `den Jungen`."""
        if plural:
            return self.plural
        weak = self.gender == "m" and self.genitive.endswith("n") and case != NOM
        return self.genitive if case == GEN or weak else self.nominative


@dataclass(frozen=True, slots=True)
class Noun:
    """An English noun and its translations; `kinds` says which verbs and adjectives go with it."""

    english: str
    plural: str  # "" for nouns used in the singular only
    kinds: frozenset[str]
    german: tuple[GermanNoun, ...]


@dataclass(frozen=True, slots=True)
class Adjective:
    """An English adjective and its translations, whose last word is inflected; `graded` allows a degree."""

    english: str
    kinds: frozenset[str]
    german: tuple[str, ...]
    graded: bool


def alternatives(text: str) -> tuple[str, ...]:
    """Split `a | b | c`."""
    return tuple(part.strip() for part in text.split("|"))


def _noun(english: str, plural: str, kinds: str, *german: str) -> Noun:
    nouns = tuple(GermanNoun(*entry.split(" ", 4)) for entry in german)
    return Noun(english, plural, frozenset(kinds.split()), nouns)


# English singular, plural, kinds; German gender, nominative, genitive, plural, words after (`-` is not used).
NOUNS = (
    _noun("man", "men", "person adult people owner", "m Mann Mannes Männer"),
    _noun("woman", "women", "person adult people owner", "f Frau Frau Frauen"),
    _noun("boy", "boys", "person people owner", "m Junge Jungen Jungen"),
    _noun("actor", "actors", "person adult people", "m Schauspieler - Schauspieler"),
    _noun("actress", "actresses", "person adult people", "f Schauspielerin - Schauspielerinnen"),
    _noun("waitress", "waitresses", "person adult people", "f Kellnerin - Kellnerinnen"),
    _noun("father", "", "person adult kin owner", "m Vater Vaters -"),
    _noun("mother", "", "person adult kin owner", "f Mutter Mutter -"),
    _noun("brother", "", "person adult kin owner", "m Bruder Bruders -"),
    _noun("sister", "", "person adult kin owner", "f Schwester Schwester -"),
    _noun("uncle", "", "person adult kin", "m Onkel - -"),
    _noun("aunt", "", "person adult kin", "f Tante - -"),
    _noun("grandfather", "", "person adult kin", "m Großvater - -", "m Opa - -"),
    _noun("grandmother", "", "person adult kin", "f Großmutter - -", "f Oma - -"),
    _noun("car", "cars", "thing goods fixable", "n Auto - Autos", "m Wagen - Wagen"),
    _noun("bicycle", "bicycles", "thing goods fixable", "n Fahrrad - Fahrräder", "n Rad - Räder"),
    _noun(
        "television", "televisions", "thing goods fixable", "m Fernseher - Fernseher", "n Fernsehgerät - Fernsehgeräte"
    ),
    _noun("photo", "photos", "thing goods", "n Foto - Fotos", "f Aufnahme - Aufnahmen"),
    _noun("house", "houses", "thing goods", "n Haus - Häuser"),
    _noun("wooden chair", "", "thing goods fixable", "m Holzstuhl - -"),
    _noun("leather bag", "", "thing goods door", "f Ledertasche - -"),
    _noun("sofa", "sofas", "thing goods fixable", "n Sofa - Sofas", "f Couch - Couchs"),
    _noun("kitchen table", "", "thing goods fixable", "m Küchentisch - -"),
    _noun("magazine", "magazines", "thing goods", "f Zeitschrift - Zeitschriften", "n Magazin - Magazine"),
    _noun("front door", "", "thing fixable door only", "f Haustür - -"),
    _noun("garden gate", "", "thing fixable door only", "n Gartentor - -"),
)

# Determiners of singular nouns: forms for masculine, feminine and neuter nouns in each case.
SINGULAR = {
    "the": {NOM: "der die das", ACC: "den die das", DAT: "dem der dem", GEN: "des der des"},
    "this": {NOM: "dieser diese dieses", ACC: "diesen diese dieses", DAT: "diesem dieser diesem"},
    "a": {NOM: "ein eine ein", ACC: "einen eine ein", DAT: "einem einer einem"},
    "my": {
        NOM: "mein meine mein",
        ACC: "meinen meine mein",
        DAT: "meinem meiner meinem",
        GEN: "meines meiner meines",
    },
}
WEAK = {NOM: "e e e", ACC: "en e e", DAT: "en en en", GEN: "en en en"}
MIXED = {NOM: "er e es", ACC: "en e es", DAT: "en en en", GEN: "en en en"}
ADJECTIVE_ENDINGS = {"the": WEAK, "this": WEAK, "a": MIXED, "my": MIXED}
# Determiners of plural nouns (nominative and accusative, no other case is used), ending of adjectives.
PLURAL = {
    "the": (alternatives("die"), "en"),
    "both": (alternatives("beide"), "en"),
    "some": (alternatives("einige | ein paar"), "e"),
    "two": (alternatives("zwei"), "e"),
}
INDEFINITE = ("a", "some", "two")


def _adjective(english: str, kinds: str, german: str, graded: bool = True) -> Adjective:
    return Adjective(english, frozenset(kinds.split()), alternatives(german), graded)


ADJECTIVES = (
    _adjective("old", "adult thing", "alt"),
    _adjective("young", "people", "jung"),
    _adjective("friendly", "person", "freundlich | nett"),
    _adjective("clever", "person", "klug | schlau"),
    _adjective("famous", "person", "berühmt", graded=False),
    _adjective("exhausted", "person", "erschöpft | müde", graded=False),
    _adjective("red", "thing", "rot", graded=False),
    _adjective("beautiful", "thing", "schön | hübsch"),
    _adjective("expensive", "thing", "teuer"),
    _adjective("huge", "thing", "riesig", graded=False),
    _adjective("brand new", "thing", "nagelneu", graded=False),
)
STEMS = {"teuer": "teur", "müde": "müd"}  # before an ending
DEGREES = {"very": alternatives("sehr"), "quite": alternatives("ziemlich | recht")}

TIMES = {
    PRESENT: {
        "today": alternatives("heute | am heutigen Tag"),
        "in the morning": alternatives("morgens | am Morgen"),
        "in the evening": alternatives("abends | in den Abendstunden"),
        "at night": alternatives("nachts | in der Nacht"),
        "every day": alternatives("täglich | Tag für Tag"),
        "sometimes": alternatives("manchmal | hin und wieder"),
        "usually": alternatives("meistens | in der Regel"),
    },
    PROGRESSIVE: {
        "today": alternatives("heute | am heutigen Tag"),
        "at the moment": alternatives("gerade | in diesem Moment"),
        "this week": alternatives("diese Woche | in dieser Woche"),
    },
    PAST: {
        "yesterday": alternatives("gestern | am gestrigen Tag"),
        "recently": alternatives("kürzlich | vor kurzer Zeit"),
        "last week": alternatives("letzte Woche | in der letzten Woche"),
    },
}
PLACES = {
    "at home": alternatives("daheim | zu Hause"),
    "outside": alternatives("draußen | unter freiem Himmel"),
    "here": alternatives("hier | an diesem Ort"),
    "nearby": alternatives("in der Nähe"),
    "in the city centre": alternatives("in der Innenstadt"),
}
COMMENTS = {
    "probably": alternatives("wohl | aller Wahrscheinlichkeit nach"),
    "certainly": alternatives("bestimmt | mit großer Sicherheit"),
    "apparently": alternatives("offenbar | allem Anschein nach"),
    "unfortunately": alternatives("leider | zu meinem Bedauern"),
    "fortunately": alternatives("glücklicherweise | zu meinem Glück"),
}
NEVER_FIRST = ("probably",)  # `wohl` cannot begin a German sentence
# Words without an English counterpart that may stand or fall, each by itself, in this order.
PARTICLES = ("ja", "doch")
