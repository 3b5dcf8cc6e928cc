"""The jobs of a study, from nothing to its report, with what each waits for and how long it takes at given rates.

Multiplications are counted, and a GPU is taken to do a share of its peak: a token of a training costs six floating
point operations a parameter (two forward, four backward), one that is decoded two.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from axenat import layout, needs
from axenat.catalogue import FIGURE_NAMES
from axenat.config import RunConfig
from axenat.corpus_config import SPLITS
from axenat.estimates import largest_vocabulary, num_parameters, work_of
from axenat.resources import Resources
from axenat.study import Study

TRAINED, DECODED = 6, 2  # operations of a parameter for a token
PREPROCESSING = 3  # clean, learn_subwords, encode: one after the other, each a third of the measured time


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    name: str
    rule: str
    seconds: float
    gpus: int = 0
    after: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Measured where this machine can, assumed where only a GPU could tell."""

    peak: float  # assumed: operations a second of one GPU
    train_share: float = 0.35  # assumed: of the peak
    decode_share: float = 0.05  # assumed: of the peak; a beam waits for memory, not for products
    doubling: float = 0.95  # assumed: of the speed of two GPUs, with each doubling of a training's
    sentence_tokens: float = 30.0  # assumed: subwords of the longer side
    web: float = 10e6  # assumed: bytes a second of a download
    pairs_per_second: float = 6_061.0  # measured on two cores: docs/corpora.md, from raw text to ids
    jieba_lines_per_second: float = 6_800.0  # measured on two cores
    job_seconds: float = 0.0  # measured: what a cluster adds to each job
    stage_seconds: Mapping[str, float] = field(default_factory=dict)  # measured: a job that runs no model


def multiplied(study: Study, run: str, vocabulary: int | None = None) -> tuple[int, int]:
    """Parameters of encoder and decoder that a token is multiplied with: a source embedding is only looked up."""
    config = study.runs[run]
    size = vocabulary or largest_vocabulary(study.corpus_of(run))
    whole = num_parameters(config.system, config.model, size, size, joint=True)
    twice = replace(config.model, encoder_layers=2 * config.model.encoder_layers)
    encoder = num_parameters(config.system, twice, size, size, joint=True) - whole
    return encoder, whole - encoder


def training_operations(study: Study, run: str) -> float:
    return TRAINED * work_of(study.runs[run], sum(multiplied(study, run)))


def training_seconds(study: Study, run: str, gpus: int, rates: Rates) -> float:
    speed = gpus * rates.doubling ** math.log2(gpus) * rates.train_share * rates.peak
    return training_operations(study, run) / speed


def sentence_operations(study: Study, run: str, tokens: float, vocabulary: int | None = None) -> float:
    """Of one translation: the source once, the target for each hypothesis or length."""
    encoder, decoder = multiplied(study, run, vocabulary)
    decode = study.runs[run].decode
    hypotheses = study.runs[run].system.decoding.width(decode)
    return DECODED * tokens * (encoder + hypotheses * decoder)


def decoding_seconds(study: Study, run: str, sentences: float, rates: Rates) -> float:
    work = sentences * sentence_operations(study, run, rates.sentence_tokens)
    return work / (rates.decode_share * rates.peak)


def jobs_of_study(study: Study, resources: Resources, rates: Rates, widths: Mapping[str, int]) -> list[Job]:
    """`widths` has the GPUs of train and train_teacher; what others ask for is in `resources`."""
    archives = {archive.place: archive for one in study.selections.values() for archive in one.archives.values()}
    jobs = [
        Job(name=f"fetch {place}", rule="fetch", seconds=(archive.bytes or 0) / rates.web)
        for place, archive in archives.items()
    ]
    for corpus in study.corpora:
        jobs += [*_raw(study, corpus, rates), *_text(study, corpus, rates)]
    for run in study.runs:
        jobs += _run(study, run, rates, widths)
    for corpus in dict.fromkeys(run.corpus for run in study.runs.values() if run.target_side == "distilled"):
        jobs += _distilled(study, corpus, rates)
    jobs += _evaluation(study)
    asks = resources.by_rule()
    return [_in_cluster(job, asks[job.rule].gpus, rates) if job.rule in asks else job for job in jobs]


def _in_cluster(job: Job, gpus: int, rates: Rates) -> Job:
    """What takes long is computed; a job of a small model, measured, tells how long starting up and writing takes."""
    small = rates.stage_seconds.get(job.rule.removesuffix("_teacher"), 0.0)
    return replace(job, gpus=job.gpus or gpus, seconds=job.seconds + small + rates.job_seconds)


def _raw(study: Study, corpus: str, rates: Rates) -> Iterator[Job]:
    for split in SPLITS:
        places = [path.removeprefix(f"{layout.ARCHIVES}/") for path in layout.archives(study, corpus, split)]
        download, after = f"download {corpus} {split}", tuple(f"fetch {place}" for place in places)
        seconds = cleaning_seconds(study, corpus, rates) if split == "train" else 0
        yield Job(name=download, rule="download", seconds=0, after=after)
        yield Job(name=f"clean {corpus} {split}", rule="clean", seconds=seconds, after=(download,))
    trained = {run.corpus for run in study.runs.values()}
    if corpus in trained and study.corpora[corpus].references > 1:
        yield Job(name=f"clean_references {corpus}", rule="clean", seconds=0, after=(f"clean {corpus} test",))


def _text(study: Study, corpus: str, rates: Rates) -> Iterator[Job]:
    """Raw text becomes ids once; valid and test are small. Distilled text is encoded once more."""
    if corpus not in {run.corpus for run in study.runs.values()}:
        return
    clean, subwords = f"clean {corpus} train", f"learn_subwords {corpus}"
    third = pairs_of(study, corpus) / rates.pairs_per_second / PREPROCESSING
    yield Job(name=subwords, rule="learn_subwords", seconds=third, after=(clean,))
    for path in dict.fromkeys(
        layout.ids(study, run, split) for run in study.runs for split in ("train", "valid")
        if study.runs[run].corpus == corpus
    ):  # fmt: skip
        is_train, distilled = "/train." in path, "/distilled/" in path
        words = (f"gather {corpus}",) if distilled else (f"clean {corpus} {'train' if is_train else 'valid'}",)
        yield Job(name=path, rule="encode", seconds=third if is_train else 0, after=(subwords, *words))


def pairs_of(study: Study, corpus: str) -> int:
    """After cleaning, as others counted them."""
    config, selection = study.corpora[corpus], study.selections.get(corpus)
    if selection and (selection.expected.clean or selection.expected.raw):
        return selection.expected.clean or selection.expected.raw or 0
    return config.grammar.train if config.grammar else 0


def cleaning_seconds(study: Study, corpus: str, rates: Rates) -> float:
    """Of the raw pairs of train; Chinese is segmented on top of it."""
    config, selection = study.corpora[corpus], study.selections.get(corpus)
    raw = (selection.expected.raw if selection else None) or pairs_of(study, corpus)
    chinese = "zh" in (config.source_language, config.target_language)
    return raw / rates.pairs_per_second / PREPROCESSING + (raw / rates.jieba_lines_per_second if chinese else 0)


def _run(study: Study, run: str, rates: Rates, widths: Mapping[str, int]) -> Iterator[Job]:
    config = study.runs[run]
    teacher = "_teacher" if run in study.teachers else ""
    ids = tuple(layout.ids(study, run, split) for split in ("train", "valid"))
    start = (f"average {config.start_from}",) if config.start_from else ()
    width = widths[f"train{teacher}"]
    yield Job(name=f"train {run}", rule=f"train{teacher}", seconds=training_seconds(study, run, width, rates),
              gpus=width, after=(*ids, *start))  # fmt: skip
    yield Job(name=f"average {run}", rule=f"average{teacher}", seconds=0, after=(f"train {run}",))
    tuned = len(getattr(config.decode, config.system.decoding.tuned.grid))
    valid, test = (held_out(study, config, split) for split in ("valid", "test"))
    yield Job(name=f"tune {run}", rule=f"tune{teacher}", after=(f"average {run}", f"clean {config.corpus} valid"),
              seconds=decoding_seconds(study, run, tuned * valid, rates))  # fmt: skip
    once = decoding_seconds(study, run, test, rates)
    for decode in config.decode_names:
        name = f"{run} {decode}"
        source = (f"tune {run}", f"download {config.corpus} test")
        yield Job(name=f"translate {name}", rule="translate", seconds=once, after=source)
        yield Job(name=f"score {name}", rule="score", seconds=0, after=(f"translate {name}",))
    own = f"translate {run} {config.decode_name}"
    yield Job(name=f"analyse {run}", rule="analyse", seconds=once, after=(own,))


def held_out(study: Study, run: RunConfig, split: str) -> int:
    selection, grammar = study.selections.get(run.corpus), study.corpora[run.corpus].grammar
    known = getattr(selection, split).pairs if selection else getattr(grammar, split, None)
    return known or 3_000


def _distilled(study: Study, corpus: str, rates: Rates) -> Iterator[Job]:
    distil = study.corpora[corpus].distil
    assert distil is not None
    shards = layout.shards(study, corpus, "target")
    seconds = decoding_seconds(study, distil.teacher, pairs_of(study, corpus) / len(shards), rates)
    after = (f"tune {distil.teacher}", f"clean {corpus} train")
    yield from (Job(name=shard, rule="distil", seconds=seconds, after=after) for shard in shards)
    yield Job(name=f"gather {corpus}", rule="gather", seconds=0, after=tuple(shards))


def _evaluation(study: Study) -> Iterator[Job]:
    """What shows scores waits for all of them, which is near enough: each of these jobs takes seconds."""
    scores = tuple(f"score {run} {decode}" for run in study.runs for decode in study.runs[run].decode_names)
    for name, grid in study.grids.items():
        yield Job(name=f"choose {name}", rule="choose", seconds=0, after=tuple(f"tune {run}" for run in grid.runs))
    if "speed" in study.tables:
        compared = dict.fromkeys(run for run, _ in needs.side_by_side(study))
        after = (*(f"train {run}" for run in study.runs), *(f"tune {run}" for run in compared))
        yield Job(name="speed", rule="speed", seconds=0, after=after)
    known = (*scores, *(f"analyse {run}" for run in study.runs), *(f"choose {name}" for name in study.grids))
    yield Job(name="summarise", rule="summarise", seconds=0, after=known)
    shown = [("tables", table) for table in study.tables] + [("figures", figure) for figure in FIGURE_NAMES]
    clock = ("speed",) if "speed" in study.tables else ()
    for rule, name in shown:
        yield Job(name=f"{rule} {name}", rule=rule, seconds=0, after=(*known, *clock))
    last = ("summarise", *(f"{rule} {name}" for rule, name in shown))
    yield Job(name="report", rule="report", seconds=0, after=last)
