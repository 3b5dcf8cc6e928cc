"""Tiny models and corpora, made in milliseconds, for tests of what surrounds them."""

from collections import Counter
from pathlib import Path
from typing import Any

import torch

from axenat.config import ModelConfig, RunConfig
from axenat.data.batches import Batch, pad
from axenat.data.corpus import ParallelCorpus
from axenat.data.corpus_writer import write_corpus
from axenat.data.vocab import EOS
from axenat.files import write_yaml
from axenat.model.transformer import Transformer
from axenat.objectives.base import Objective
from axenat.objectives.registry import objective_of
from axenat.records import as_plain, build
from axenat.systems.registry import keys_read, settings_of

LINE = "the a old man woman buys sees red car today . der die das alte Mann Frau kauft sieht rotes Auto heute"


def model_config(**changes: Any) -> ModelConfig:
    small = {"width": 16, "encoder_layers": 1, "decoder_layers": 2, "heads": 2, "hidden": 32, "dropout": 0.0}
    return ModelConfig(**{**small, "max_positions": 12, "init_std": 0.3, **changes})


def model(
    *, size: int = 10, predicts_length: bool = True, joint: bool = True, seed: int = 1, **changes: Any
) -> Transformer:
    torch.manual_seed(seed)
    made = Transformer(model_config(**changes), size, size, joint=joint, predicts_length=predicts_length)
    return made.eval()


def objective(name: str, **changes: Any) -> Objective:
    return objective_of(settings_of(name, **{key: changes[key] for key in changes if key in keys_read(name)}))


def batch(sources: list[list[int]], targets: list[list[int]]) -> Batch:
    """Sentences of ids, an <eos> added to each."""
    source, source_lengths = pad([[*ids, EOS] for ids in sources])
    target, target_lengths = pad([[*ids, EOS] for ids in targets])
    index = torch.arange(len(sources))
    return Batch(
        source=source, source_lengths=source_lengths, target=target, target_lengths=target_lengths, index=index
    )


def sentence(whole: Batch, i: int) -> Batch:
    """One sentence of a batch, alone."""
    s, n = int(whole.source_lengths[i]), int(whole.target_lengths[i])
    return Batch(
        source=whole.source[i : i + 1, :s],
        source_lengths=whole.source_lengths[i : i + 1],
        target=whole.target[i : i + 1, :n],
        target_lengths=whole.target_lengths[i : i + 1],
        index=whole.index[i : i + 1],
    )


def copy_corpus(path: Path, size: int, seed: int, vocabulary: int = 10) -> ParallelCorpus:
    """Sentences whose translation is themselves."""
    rng = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 7, (size,), generator=rng).tolist()
    lines = [torch.randint(6, vocabulary, (length,), generator=rng).tolist() for length in lengths]
    write_corpus(path, lines, lines, metadata={})
    return ParallelCorpus(path)


def run_config(objective_name: str = "axe", **sections: dict[str, Any]) -> RunConfig:
    plain = {
        "corpus": "toy",
        "objective": {"name": objective_name},
        "model": {name: getattr(model_config(), name) for name in ModelConfig.__dataclass_fields__},
        "train": {"steps": 12, "tokens_per_step": 64, "tokens_per_batch": 32, "peak_lr": 0.01, "warmup_steps": 4},
    }
    for name, values in sections.items():
        plain[name] = {**plain.get(name, {}), **values} if isinstance(values, dict) else values
    # A test of all systems may say what only some of them read.
    plain["objective"] = {key: value for key, value in plain["objective"].items() if key in keys_read(objective_name)}
    return build(RunConfig, plain, "runs.toy")


def subwords_folder(folder: Path) -> Path:
    """Whole words and single letters, the same for both sides."""
    from axenat.data.learning import LearntSide, save_all
    from axenat.data.subwords import count_words, learn
    from axenat.data.text_section import TextSection
    from axenat.data.vocab import Vocab

    letters = " ".join(sorted({f"{letter}@@" for letter in LINE if letter != " "}))
    learnt = LearntSide(learn(count_words([LINE]), 200), Counter(), Vocab.build([LINE, letters]))
    save_all(folder, TextSection(source_language="en", target_language="de"), (learnt, learnt), None)
    return folder


def run_folder(
    folder: Path, objective_name: str, *, seed: int = 1, shape: dict[str, Any] | None = None, **decode: Any
) -> Path:
    """The folder of a run whose model was never trained."""
    from axenat.data.vocab import Vocab
    from axenat.train.checkpoint import save_tensors, weights_of

    subwords_folder(folder)
    shape = {"max_positions": 24, **(shape or {})}
    config = run_config(objective_name, model=shape)
    plain = as_plain(config)
    grids = plain.pop("decode")
    text = {"run": folder.name, "source_language": "en", "target_language": "de", "joint": True}
    write_yaml(folder / "config.yaml", {**text, **plain})
    write_yaml(
        folder / "decode.yaml", {"run": folder.name, "tuned_key": config.system.decoding.tuned.key, **grids, **decode}
    )
    size = len(Vocab.load(folder / "vocab.source"))
    made = model(size=size, predicts_length=objective_name != "left_to_right", seed=seed, **shape)
    save_tensors(folder / "model.safetensors", weights_of(made), {})
    return folder
