"""How fast training is beside a plain loop over torch.nn.Transformer, and how it grows with the corpus.

python -m benchmarks.training --json training.json

The plain loop (benchmarks/plain_loop.py) trains the same network with the same objective on batches of a fixed number
of random sentences, with as many real tokens on average as ours. Its speed on our batches tells padding from the rest.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch

from axenat.config import ModelConfig, RunConfig, TrainConfig
from axenat.data.batches import plan_batches
from axenat.data.corpus import ParallelCorpus
from axenat.data.corpus_writer import write_corpus
from axenat.data.loader import load_batches
from axenat.files import read_yaml
from axenat.model.transformer import Transformer
from axenat.objectives.registry import objective_of
from axenat.study import parse_study
from axenat.systems.registry import settings_of
from axenat.systems.spec import Settings
from axenat.timing import interleaved, medians, ratio
from axenat.train.checkpoint import TrainState
from axenat.train.forward import ScoredModel
from axenat.train.loop import Engine, update
from axenat.train.optimizer import optimizer_of
from axenat.train.setting import Setting, seeded_model
from axenat.train.steps import steps_from
from axenat.train.stopwatch import Stopwatch
from benchmarks.measure import arguments, in_fresh_process, peaks, report
from benchmarks.plain_loop import Pair, PlainTransformer, plain_steps, random_batches

Columns = tuple[np.ndarray, np.ndarray]  # lengths of sources and targets


def demo_lengths(rng: np.random.Generator, size: int) -> Columns:
    """Mean, spread and correlation of the demo's subwords: mostly 8 to 20."""
    source = rng.normal(12.1, 2.2, size)
    target = rng.normal(13.9 + 0.62 * (source - 12.1), 2.2)
    return source.round().clip(6, 20).astype(int), target.round().clip(6, 24).astype(int)


def caption_lengths(rng: np.random.Generator, size: int) -> Columns:
    """Mean, spread and correlation of Multi30k's in 8,000 joint subwords."""
    source = rng.lognormal(2.67, 0.29, size)
    target = source * rng.lognormal(0.005, 0.164, size)
    return source.round().clip(4, 60).astype(int), target.round().clip(4, 60).astype(int)


@dataclass(frozen=True)
class Size:
    model: ModelConfig
    V: int
    tokens: int  # the budget of a batch
    lengths: Callable[[np.random.Generator, int], Columns]
    pairs: int
    steps: int  # of one round


DEMO = parse_study(read_yaml(Path(__file__).parents[1] / "config" / "config.yaml")).runs["ce-raw"].model
CAPTIONS = ModelConfig(width=256, encoder_layers=3, decoder_layers=3, heads=4, hidden=1024, dropout=0.1,
                       max_positions=128)  # fmt: skip
SIZES = {
    "demo": Size(DEMO, 430, 512, demo_lengths, 20_000, 20),
    "multi30k": Size(CAPTIONS, 8_000, 4_096, caption_lengths, 29_000, 1),
}
OBJECTIVES = ("left_to_right", "masked")
CORPORA = (10_000, 100_000, 1_000_000)  # pairs
STAGES = ("data", "forward", "backward", "optimizer")  # as the loop calls them
CLIP_NORM = 25.0
LIMITS = {
    "at_least": {"speedup": 1.5, "real_share": 0.92},
    "at_most": {"anonymous_growth": 1.1},  # from the smallest corpus to the largest
}


def main(argv: list[str] | None = None) -> None:
    args = arguments(__doc__, argv, rounds=9)
    with tempfile.TemporaryDirectory() as folder:
        speeds = [speed(name, objective, args.rounds, Path(folder)) for name in SIZES for objective in OBJECTIVES]
        growths = [growth(pairs, Path(folder)) for pairs in CORPORA]
    first, last = growths[0], growths[-1]
    memory = {
        f"{kind}_growth": last[f"{kind}_megabytes"] / first[f"{kind}_megabytes"] for kind in ("anonymous", "resident")
    }
    results = {"speeds": speeds, "corpora": growths, "memory": memory}
    report(args.json, "training", {**results, "limits": LIMITS}, list(_table(results)))


def _table(results: dict[str, Any]) -> Iterator[list[str]]:
    least, most = LIMITS["at_least"], LIMITS["at_most"]
    yield ["measured", "value", "limit"]
    for row in results["speeds"]:
        yield [f"tokens/s ours : plain, {row['size']}, {row['objective']}", f"{row['speedup']:.2f}",
               f">= {least['speedup']}"]  # fmt: skip
        yield ["  on equal batches", f"{row['speedup_on_equal_batches']:.2f}", ""]
        yield ["  tokens/s of ours", f"{row['tokens_per_second']['ours']:.0f}", ""]
        yield ["  real tokens in a batch of ours", f"{row['real_share']:.3f}", f">= {least['real_share']}"]
        yield ["  real tokens in a random batch", f"{row['plain_real_share']:.3f}", ""]
        yield [f"  {', '.join(STAGES)}", " ".join(f"{row['stages'][stage]:.3f}" for stage in STAGES), ""]
    for row in results["corpora"]:
        yield [f"{row['pairs']} pairs: tokens/s of the data alone", f"{row['data_tokens_per_second']:.0f}", ""]
        yield ["  tokens/s of training", f"{row['tokens_per_second']:.0f}", ""]
        yield ["  peak MB anonymous, resident", f"{row['anonymous_megabytes']:.0f} {row['resident_megabytes']:.0f}", ""]
    memory = results["memory"]
    yield ["anonymous memory, largest : smallest corpus", f"{memory['anonymous_growth']:.3f}",
           f"<= {most['anonymous_growth']}"]  # fmt: skip
    yield ["  resident, with pages of the mapped file", f"{memory['resident_growth']:.3f}", ""]


def random_corpus(path: Path, columns: Columns, V: int) -> Path:
    """Random words; each sentence as long as its column says, its <eos> included."""
    rng = np.random.default_rng(1)
    sides = ((rng.integers(6, V, length - 1).tolist() for length in column) for column in columns)
    write_corpus(path, *sides, metadata={})
    return path


def speed(name: str, objective: str, rounds: int, folder: Path) -> dict[str, Any]:
    """Real tokens a second of training steps: ours, the plain loop's, and the plain loop's on our batches."""
    size = SIZES[name]
    columns = size.lengths(np.random.default_rng(1), size.pairs)
    corpus = ParallelCorpus(random_corpus(folder / name, columns, size.V))
    plan = list(plan_batches(*columns, size.tokens, seed=1, epoch=0))
    sentences = round(size.pairs / len(plan))
    stages: dict[str, list[float]] = {stage: [] for stage in STAGES}
    config = settings_of(objective)
    engines = {
        "ours": our_steps(size, config, corpus, stages),
        "plain": _plain(size, config, random_batches(pairs_of(corpus), sentences)),
        "equal": _plain(size, config, ((batch.source, batch.target) for batch in load_batches(corpus, cycle(plan)))),
    }
    tokens: dict[str, list[int]] = {key: [] for key in engines}
    steps = {key: _some_steps(steps, size.steps, tokens[key]) for key, steps in engines.items()}
    seconds = interleaved(steps, rounds)
    per_token = {key: [s / n for s, n in zip(seconds[key], tokens[key][-rounds:], strict=True)] for key in engines}
    own = {stage: float(np.median(times[size.steps :])) for stage, times in stages.items()}  # the first round warms up
    return {
        "size": name, "objective": objective, "rounds": rounds, "sentences_of_a_plain_batch": sentences,
        "tokens_per_second": {key: 1 / value for key, value in medians(per_token).items()},
        "speedup": ratio(per_token, "plain", "ours"), "speedup_on_equal_batches": ratio(per_token, "equal", "ours"),
        "speedup_by_less_padding": ratio(per_token, "plain", "equal"),
        "real_share": real_share(columns, plan),
        "plain_real_share": real_share(columns, np.array_split(np.random.default_rng(2).permutation(size.pairs),
                                                               size.pairs // sentences)),
        "seconds_of_stages": own, "stages": {stage: own[stage] / sum(own.values()) for stage in STAGES},
    }  # fmt: skip


def _plain(size: Size, config: Settings, batches: Iterator[Pair]) -> Iterator[int]:
    torch.manual_seed(1)
    return plain_steps(PlainTransformer(size.model, size.V), config.name, batches, config.label_smoothing, CLIP_NORM)


def _some_steps(steps: Iterator[int], number: int, tokens: list[int]) -> Callable[[], None]:
    return lambda: tokens.append(sum(next(steps) for _ in range(number)))


def real_share(columns: Columns, plan: list[np.ndarray]) -> float:
    """Of all positions of all batches, both sides."""
    positions = sum(len(batch) * sum(int(column[batch].max()) for column in columns) for batch in plan)
    return float(sum(int(column.sum()) for column in columns) / positions)


def pairs_of(corpus: ParallelCorpus) -> list[Pair]:
    """As a newcomer holds them: all in memory."""
    return [
        (torch.tensor(corpus.source(i).astype(np.int64)), torch.tensor(corpus.target(i).astype(np.int64)))
        for i in range(len(corpus))
    ]


def our_steps(size: Size, config: Settings, corpus: ParallelCorpus, stages: dict[str, list[float]]) -> Iterator[int]:
    """Steps of the training loop itself, timed by stage; each gives the number of its real tokens."""
    train = TrainConfig(tokens_per_step=size.tokens, tokens_per_batch=size.tokens, clip_norm=CLIP_NORM)
    run = RunConfig(corpus="random", objective=config, model=size.model, train=train)
    objective = objective_of(config)
    model = seeded_model(1, lambda: Transformer(size.model, size.V, size.V, joint=True,
                                                predicts_length=objective.predicts_length))  # fmt: skip
    setting = Setting(run, model, objective, corpus, corpus, Path(), torch.device("cpu"))
    optimizer = optimizer_of(train, model.parameters(), torch.float32)
    engine = Engine(
        setting, "", ScoredModel(model, setting.objective), optimizer, torch.float32, Stopwatch(setting.device)
    )
    state = TrainState()
    steps = steps_from(setting, state)
    while True:
        with engine.watch.part("data"):
            step = next(steps)
        update(engine, state, step)
        state.epoch += step.ends_epoch
        for stage, seconds in engine.watch.read().items():
            if stage in stages:
                stages[stage].append(seconds)
        tokens, state.window = state.window["tokens"], {}
        yield int(tokens)


def growth(pairs: int, folder: Path) -> dict[str, Any]:
    """The data of a whole epoch and some training steps on a corpus of so many pairs, in a process of its own."""
    path = random_corpus(folder / f"{pairs}", caption_lengths(np.random.default_rng(1), pairs), SIZES["demo"].V)
    return {"pairs": pairs, "file_megabytes": path.stat().st_size / 2**20, **in_fresh_process(pass_over, path, 10)}


def pass_over(path: Path, steps: int) -> dict[str, float]:
    size, config = SIZES["demo"], settings_of("masked")
    with peaks() as peak:
        corpus = ParallelCorpus(path)
        start = time.perf_counter()
        plan = plan_batches(corpus.source_lengths, corpus.target_lengths, 4_096, seed=1, epoch=0)
        tokens = sum(
            int(batch.source_lengths.sum() + batch.target_lengths.sum()) for batch in load_batches(corpus, plan)
        )
        data = tokens / (time.perf_counter() - start)
        taken = our_steps(size, config, corpus, {})
        next(taken)
        start = time.perf_counter()
        trained = sum(next(taken) for _ in range(steps)) / (time.perf_counter() - start)
    return {"data_tokens_per_second": data, "tokens_per_second": trained, **peak}


if __name__ == "__main__":
    main()
