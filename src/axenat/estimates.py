"""What a study will need, as far as its configuration tells: parameters, bytes on disk, work of a training."""

from dataclasses import dataclass

from axenat import layout
from axenat.config import ModelConfig, RunConfig
from axenat.corpus_config import CorpusConfig
from axenat.study import Study
from axenat.systems.spec import System

FLOAT = 4  # bytes
CHARACTERS = 2_000  # pieces that are in a vocabulary beside its merges; more with Chinese
BYTES_PER_PAIR = 320  # both sides; WMT'14 English-German has 290
UNPACKED = 4  # times as large as its archive
TEXT_COPIES = 5  # raw, clean, ids, and the target side once more as the teacher has it, with its ids
KEPT_STATES, STATE = 2, 3  # states of a training, each weights and two moments
BEING_WRITTEN = STATE


def num_parameters(system: System, model: ModelConfig, source_size: int, target_size: int, *, joint: bool) -> int:
    """As the system's network has them; output and target embedding are one matrix."""
    width, norm = model.width, 2 * model.width
    attention = 4 * (width * width + width)
    feed_forward = 2 * width * model.hidden + model.hidden + width
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    tokens = target_size + (0 if joint else source_size)
    shared = model.encoder_layers * encoder + model.decoder_layers * decoder
    return shared + (tokens + 2 * model.max_positions) * width + system.num_own_parameters(model)


def largest_vocabulary(corpus: CorpusConfig) -> int:
    """An upper bound: how many pieces there will be is known when they are learnt."""
    size = corpus.subwords.merges + CHARACTERS * (5 if "zh" in (corpus.source_language, corpus.target_language) else 1)
    return min(size, corpus.subwords.max_vocabulary or size)


def parameters_of(study: Study, run: str, learnt: tuple[int, int] | None = None) -> int:
    """With the vocabularies of source and target that were learnt, or else the largest that there can be."""
    config, corpus = study.runs[run], study.corpus_of(run)
    source, target = learnt or (largest_vocabulary(corpus),) * 2
    return num_parameters(config.system, config.model, source, target, joint=corpus.subwords.joint)


def work_of(run: RunConfig, parameters: int) -> float:
    """Of a whole training, in multiplications of a token with a parameter."""
    return float(run.train.steps) * run.train.tokens_per_step * parameters


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """Bytes that a study takes from nothing to report: trainings one after the other, or all at once."""

    archives: int
    text: int
    models: int
    in_training: dict[str, int]  # by run, while it is trained

    @property
    def least(self) -> int:
        return self.archives + self.text + self.models + max(self.in_training.values(), default=0)

    @property
    def most(self) -> int:
        return self.archives + self.text + self.models + sum(self.in_training.values())


def space_of(study: Study, text_of_folder: dict[str, int]) -> Space:
    """`text_of_folder` has the bytes of the corpora that are somebody's own folder."""
    sizes = {run: FLOAT * parameters_of(study, run) for run in study.runs}
    archives = {
        archive.place: archive.bytes or 0
        for selection in study.selections.values() for archive in selection.archives.values()
    }  # fmt: skip
    text = sum(_text_of(study, corpus, text_of_folder.get(corpus, 0)) for corpus in study.corpora)
    return Space(
        archives=2 * sum(archives.values()),  # and once more in DVC's cache
        text=2 * TEXT_COPIES * text,
        # The best checkpoints stay; the averaged model is also in DVC's cache and in MLflow's registry.
        models=sum((study.runs[run].train.keep_best + 3) * size for run, size in sizes.items()),
        in_training={run: (KEPT_STATES * STATE + BEING_WRITTEN) * size for run, size in sizes.items()},
    )


def _text_of(study: Study, corpus: str, own: int) -> int:
    config, selection = study.corpora[corpus], study.selections.get(corpus)
    if config.grammar:
        grammar = config.grammar
        held_out = (grammar.valid + grammar.test) * (config.references + 1)
        return BYTES_PER_PAIR * (grammar.train + held_out)
    if selection is None:
        return own
    pairs = selection.expected.raw or 0
    packed = sum(archive.bytes or 0 for archive in selection.archives.values())
    return BYTES_PER_PAIR * pairs if pairs else UNPACKED * packed


def own_folders(study: Study) -> dict[str, list[str]]:
    """Files that a study takes from folders of its user, by corpus."""
    return {
        corpus: [path for split in ("train", "valid", "test") for path in layout.own_files(study, corpus, split)]
        for corpus, config in study.corpora.items()
        if config.folder
    }
