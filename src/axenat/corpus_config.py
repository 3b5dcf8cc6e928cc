"""What a study may say of a corpus: frozen records, checked where they are defined, refused in words."""

from dataclasses import dataclass, field

from axenat.languages import LANGUAGES
from axenat.records import MOST_SEED, ConfigError, at_least, between, exactly_one, one_of

SPLITS = ("train", "valid", "test")
MOST_REFERENCES = 8  # every sentence of the grammar has at least half as many translations again


@dataclass(frozen=True, kw_only=True, slots=True)
class GrammarConfig:
    """The embedded English-German corpus, written by a grammar."""

    seed: int = 1
    train: int = 20_000
    valid: int = 500
    test: int = 500

    def __post_init__(self) -> None:
        between("grammar.seed", self.seed, 0, MOST_SEED)
        for split in SPLITS:
            at_least(f"grammar.{split}", getattr(self, split), 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class TextConfig:
    """How a line of plain text becomes words, in training and in translation alike; Chinese is segmented by jieba."""

    normalise_punctuation: bool = False  # Moses: plain quotes, dashes and spaces
    aggressive_hyphens: bool = False  # Moses -a: co-op becomes co @-@ op
    escape: bool = False  # Moses: & becomes &amp;, as in Google's copy of WMT'16 English-German
    normalise_romanian: bool = False  # cedillas below s and t become commas
    remove_diacritics: bool = False  # of Romanian letters
    truecase: bool = False  # the first word of a sentence as it is written elsewhere


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanConfig:
    """Which pairs are trained on; lengths are in words. Valid and test stay whole."""

    min_length: int = 1
    max_length: int = 250
    max_ratio: float = 9.0
    drop_duplicates: bool = False
    drop_wrong_script: bool = False  # a Chinese side without Chinese characters, another side with them

    def __post_init__(self) -> None:
        at_least("clean.min_length", self.min_length, 1)
        at_least("clean.max_length", self.max_length, self.min_length)
        at_least("clean.max_ratio", self.max_ratio, 1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class SubwordsConfig:
    merges: int = 32_000
    joint: bool = True  # one code and one vocabulary for both sides; shares all embeddings
    min_count: int = 1
    max_vocabulary: int = 0  # 0: no cap
    vocabulary_threshold: int = 0  # subword-nmt's: pieces that a side has fewer times are split further; 0: none are

    def __post_init__(self) -> None:
        at_least("subwords.merges", self.merges, 0)
        at_least("subwords.min_count", self.min_count, 1)
        at_least("subwords.max_vocabulary", self.max_vocabulary, 0)
        at_least("subwords.vocabulary_threshold", self.vocabulary_threshold, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class DistilConfig:
    """Sequence-level distillation: this run's beam search replaces the train targets."""

    teacher: str
    shards: int = 1

    def __post_init__(self) -> None:
        at_least("distil.shards", self.shards, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalysisConfig:
    """How section 5 of the paper sorts sentences by their number of target tokens."""

    length_bounds: tuple[int, ...] = (1, 10, 20, 30, 40, 50)  # Table 8
    short_below: int = 10  # Figure 3, left
    long_above: int = 30  # Figure 3, right

    def __post_init__(self) -> None:
        bounds = list(self.length_bounds)
        if not bounds or bounds[0] < 1 or bounds != sorted(set(bounds)):
            raise ConfigError(f"analysis.length_bounds must be whole numbers from 1 that rise, got {bounds}")
        at_least("analysis.long_above", self.long_above, self.short_below - 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusConfig:
    source_language: str
    target_language: str
    grammar: GrammarConfig | None = None
    folder: str | None = None  # a folder with {train,valid,test}.{language} of your own
    recipe: str | None = None  # a published corpus: one of src/axenat/recipes, or a file of your own
    train_parts: tuple[str, ...] = ()  # of the recipe, in this order; none: as the recipe says
    valid_set: str | None = None  # of the recipe's sets
    test_set: str | None = None
    references: int = 1  # reference files of valid and of test
    judged: bool = False  # valid.accept and test.accept say which outputs are right
    text: TextConfig = field(default_factory=TextConfig)
    clean: CleanConfig = field(default_factory=CleanConfig)
    subwords: SubwordsConfig = field(default_factory=SubwordsConfig)
    distil: DistilConfig | None = None
    analysis: AnalysisConfig = field(default_factory=AnalysisConfig)

    def __post_init__(self) -> None:
        exactly_one(grammar=self.grammar, folder=self.folder, recipe=self.recipe)
        if self.recipe is None and (self.train_parts or self.valid_set or self.test_set):
            raise ConfigError("train_parts, valid_set and test_set choose from a recipe, but the corpus names none")
        one_of("source_language", self.source_language, LANGUAGES)
        one_of("target_language", self.target_language, LANGUAGES)
        if self.source_language == self.target_language:
            raise ConfigError(f"source_language and target_language must differ, both are {self.source_language!r}")
        if self.grammar and (self.source_language, self.target_language) != ("en", "de"):
            raise ConfigError(
                "the grammar writes source_language en and target_language de, "
                f"got {self.source_language} and {self.target_language}"
            )
        at_least("references", self.references, 1)
        if self.recipe is not None and (self.references > 1 or self.judged):
            raise ConfigError(
                "a recipe has one reference of each sentence and judges no output, so references must be 1 and judged "
                f"false, got {self.references} and {str(self.judged).lower()}"
            )
        if self.grammar and self.references > MOST_REFERENCES:
            raise ConfigError(f"references must be <= {MOST_REFERENCES} with a grammar, got {self.references}")
