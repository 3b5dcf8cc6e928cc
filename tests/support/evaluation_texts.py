"""Translations whose plain, tokenised and subword forms all differ, and the tools of others that score them."""

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from unittest import mock

import jieba
from sacremoses import MosesTokenizer

from axenat.cli import main
from axenat.files import read_json, write_json, write_lines, write_yaml

SHAPES = {
    "de": (
        "„Die E-Mail-Adresse {n}“, sagt Hans' Mutter, „kostet heute {n} % mehr.“",
        'Der CO2-Ausstoß sinkt um {n},5 %, sagt "Peter Meier" & Co. im Radio.',
        "Wie geht's dir heute, Nummer {n}, und was macht die Mutter-Kind-Gruppe?",
        "Das rote Auto [neu] Nummer {n} kostet < {n} Euro, z. B. in Köln.",
    ),
    "ro": (
        "Şi ştiinţa numărul {n} e aici, în ţară, cu {n} % mai multă.",
        "Mâine plecăm la Iași cu trenul {n}, spune „Ștefan” într-o scrisoare.",
        "Preţul a crescut cu {n},5 %, dar pâinea dintr-un sat e bună.",
    ),
    "zh": (
        "他在{n}月买了一本关于中国历史的书，价格是{n}元。",
        "“今天天气很好”，老师说，我们{n}点去北京大学吧！",
        "这个城市的人口增加了{n}%，经济也发展得很快。",
    ),
}
RULES: dict[str, dict[str, bool]] = {
    "de": {"escape": True, "aggressive_hyphens": True},
    "ro": {},
    "zh": {},
}
PLAIN_LETTERS = str.maketrans("ȘșȚțŞşŢţĂăÂâÎî", "SsTtSsTtAaAaIi")
SIZE = 24


def references(language: str, size: int = SIZE) -> list[list[str]]:
    """Two sets of them."""
    shapes = SHAPES[language]
    first = [shapes[number % len(shapes)].format(n=number + 2) for number in range(size)]
    return [first, damaged(first, language, 0.2, seed=77)]


def damaged(lines: Sequence[str], language: str, rate: float, seed: int) -> list[str]:
    """Some words replaced and a few left out."""
    rng, space = random.Random(seed), "" if language == "zh" else " "
    parts = [list(line) if language == "zh" else line.split() for line in lines]
    known = [part for line in parts for part in line]
    made = []
    for line in parts:
        kept = [rng.choice(known) if rng.random() < rate else part for part in line if rng.random() > rate / 4]
        made.append(space.join(kept))
    return made


def tokenised(lines: Sequence[str], language: str, rules: dict[str, bool] | None = None) -> list[str]:
    """By the tools that the pipeline's own words must agree with; by the corpus's rules unless others are given."""
    if language == "zh":
        return [" ".join(word for word in jieba.cut(line) if word.strip()) for line in lines]
    rules, moses = RULES[language] if rules is None else rules, MosesTokenizer(lang=language)
    return [
        moses.tokenize(
            line,
            aggressive_dash_splits=rules.get("aggressive_hyphens", False),
            escape=rules.get("escape", False),
            return_str=True,
        )
        for line in lines
    ]


def stuttered(lines: Sequence[str], seed: int, rate: float) -> list[str]:
    """Words in two subwords each, of which some repeat the one before; each line begins as the last one ended."""
    rng, made, last = random.Random(seed), [], "x"
    for line in lines:
        tokens = [last]
        for word in line.split():
            pieces = [f"{word[:2]}@@", word[2:]] if len(word) > 2 else [word]
            tokens += [pieces[0]] * (2 if rng.random() < rate else 1) + pieces[1:]
        made.append(" ".join(tokens))
        last = tokens[-1]
    return made


@cache
def _sacrebleu_main() -> Callable[[], None]:
    """Importing the command resets SIGPIPE: from then on, a write to a closed connection would end the process."""
    before = signal.getsignal(signal.SIGPIPE)
    from sacrebleu.sacrebleu import main

    signal.signal(signal.SIGPIPE, before)
    return main  # type: ignore[no-any-return]


def sacrebleu(*words: object) -> Any:
    """What `python -m sacrebleu` prints for these words, with ten decimals."""
    argv = ["sacrebleu", *map(str, words), "-w", "10", "-f", "json"]
    # The command opens standard input and output a second time, by their numbers.
    with TemporaryFile() as printed, open(os.devnull) as nothing:
        streams = [mock.Mock(fileno=partial(os.dup, stream.fileno())) for stream in (nothing, printed)]
        with mock.patch.multiple(sys, argv=argv, stdin=streams[0], stdout=streams[1]):
            _sacrebleu_main()()
            sys.stdout.close()
        printed.seek(0)
        return json.load(printed)


def axenat(*words: object) -> None:
    """The command as a rule calls it."""
    assert main([str(word) for word in words]) == 0


class Lazily(dict[str, Any]):
    """What is made for a name when it is first asked for."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        self.make = make

    def __missing__(self, name: str) -> Any:
        self[name] = self.make(name)
        return self[name]


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The files of one scored output, and the flags that name them; no two forms hold the same sentences."""

    folder: Path
    language: str
    seed: int = 1
    name: str = "run"
    refs: Path | None = None
    config: dict[str, Any] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        return self.folder / f"{self.name}.{name}"

    @property
    def references(self) -> list[Path]:
        return [(self.refs or self.folder) / f"ref{number}" for number in range(2)]

    def write(self) -> "Scored":
        known = references(self.language)
        if self.refs is None:
            for path, lines in zip(self.references, known, strict=True):
                write_lines(path, lines)
        both = [pair[number % 2] for number, pair in enumerate(zip(*known, strict=True))]
        rates = {"txt": 0.15, "tok.txt": 0.2, "bpe.txt": 0.25}
        texts = {
            form: damaged(both, self.language, rate + self.seed / 50, seed=10 * self.seed + place)
            for place, (form, rate) in enumerate(rates.items())
        }
        words = tokenised(texts["tok.txt"], self.language)
        if self.language == "ro":
            words[::3] = [line.translate(PLAIN_LETTERS) for line in words[::3]]
        words[1::4] = [f"und und {line}" for line in words[1::4]]
        write_lines(self.path("txt"), texts["txt"])
        write_lines(self.path("tok.txt"), words)
        write_lines(self.path("bpe.txt"), stuttered(tokenised(texts["bpe.txt"], self.language), self.seed, 0.05))
        write_yaml(self.path("text.yaml"), {"source_language": "en", "target_language": self.language, **self.rules})
        objective = {"name": "axe", "skip_target_penalty": 2.5}
        run = {"run": self.name, "corpus": "toy", "target_side": "distilled", "seed": 11, "objective": objective}
        write_yaml(self.path("config.yaml"), run | self.config)
        candidates = [{"value": 1.07, "bleu": 30.0}]
        tuned = {"run": self.name, "key": "length_multiplier", "value": 1.07, "candidates": candidates}
        write_json(self.path("tuned.json"), tuned)
        record = {"engine": "onnx", "precision": "int8", "decode": "ell3", "value": 1.07}
        write_json(self.path("decoded.json"), record)
        return self

    @property
    def rules(self) -> dict[str, bool]:
        return RULES[self.language]

    def score(self, *more: object, out: str = "score.json") -> dict[str, Any]:
        files = {
            "--hypothesis": "txt",
            "--tokenised": "tok.txt",
            "--subwords": "bpe.txt",
            "--text-rules": "text.yaml",
            "--run-config": "config.yaml",
            "--tuned": "tuned.json",
            "--record": "decoded.json",
        }
        words = [word for flag, name in files.items() for word in (flag, self.path(name))]
        about = ("--references", *self.references, "--split", "test", "--decode", "ell3", "--out", self.path(out))
        axenat("score", *words, *about, *more)
        written: dict[str, Any] = read_json(self.path(out))
        return written
