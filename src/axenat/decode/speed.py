"""How fast systems decode, side by side: in each round every system has its turn, so that noise hits all alike."""

from collections.abc import Callable, Sequence
from typing import Any

from axenat.decode.engines import engine_of
from axenat.decode.hypothesis import Hypothesis
from axenat.decode.translator import Translator
from axenat.timing import interleaved, medians

ALONE = 30  # sentences that are timed one by one


def in_batches(translator: Translator, sources: Sequence[list[int]]) -> Callable[[], list[Hypothesis]]:
    """From ids to ids, so that no engine pays for tokenisation; batches as the configuration sizes them."""
    engine = translator.engine

    def run() -> list[Hypothesis]:
        found = dict(engine.decode(sources, translator.value))
        return [found[row][0] for row in range(len(sources))]

    return run


def one_by_one(translator: Translator, sources: Sequence[list[int]]) -> Callable[[], None]:
    trained_with = translator.folder.run.objective
    engine = engine_of(translator.model, trained_with, translator.decode, translator.device, latency=True)

    def run() -> None:
        for source in sources:
            list(engine.decode([source], translator.value))

    return run


def decoding_speeds(translators: Sequence[Translator], lines: Sequence[str], rounds: int) -> list[dict[str, Any]]:
    """Sentences a second in batches, and milliseconds for one sentence alone, of each system."""
    together, alone, about = {}, {}, {}
    for translator in translators:
        # As in a translation, nothing is decoded for an empty line, which CTranslate2 could not decode.
        sources = [ids for ids in map(translator.encode, translator.tokenise(lines)) if len(ids) > 1]
        run, how = translator.folder.name, translator.record()
        name = f"{run} {how['decode']}"
        together[name] = in_batches(translator, sources)
        alone[name] = one_by_one(translator, sources[:ALONE])
        about[name] = {
            "run": run, "corpus": translator.folder.run.corpus, "objective": translator.folder.run.objective.name,
            "decode": how["decode"], "engine": how["engine"], "precision": how["precision"],
            "num_sentences": len(sources),
        }  # fmt: skip
    batches, single = medians(interleaved(together, rounds)), medians(interleaved(alone, rounds))
    return [
        {
            **row,
            "sentences_per_second": row["num_sentences"] / batches[name],
            "latency_milliseconds": 1000 * single[name] / min(ALONE, row["num_sentences"]),
        }
        for name, row in about.items()
    ]
