"""What a finished tiny study says on every machine: data, names of weights, keys of results, parameters of rules.

Processors differ in the last bits of weights, and so in what follows from them; tests.golden.machine compares those.
"""

import ast
import hashlib
import json
import re
import sqlite3
from base64 import urlsafe_b64decode
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

RUNS = "results/runs"
# Outputs that are made without a model, or without its weights.
WITHOUT_WEIGHTS = (
    "data/*/*",
    "results/corpora/*/config/*",
    "results/corpora/*/clean/*",
    "results/corpora/*/subwords/*",
    "results/corpora/*/raw/*",
    *(f"{RUNS}/*/{name}" for name in ("*.yaml", "codes.*", "vocab.*", "pieces.*", "truecase.*")),
)
# Parts of paths that are names of a study's own.
VARIABLE = {
    r"runs/[^/]+/": "runs/*/",
    r"choices/.+\.json": "choices/*.json",
    r"test/\w+\.": "test/*.",
    r"\d-of-\d": "*",
}
# What a clock, a host or a commit says.
OF_A_MOMENT = re.compile(r"results/speed/.*|.*/provenance\.json")
# Those of a commit are there in a repository only, those of the machine where a training lasts for some seconds.
VARYING = "('commit', 'dirty', 'data_version', 'axenat.system_time')"
MLFLOW_NAMES = {
    "experiments": "select name from experiments",
    "runs": "select name from runs",
    "metrics": "select distinct key from latest_metrics where key not like 'system/%'",
    "params": "select distinct key from params",
    "tags": f"select distinct key from tags where key not like 'mlflow.%' and key not in {VARYING}",
    "registered models": "select name from registered_models",
    "tags of registered models": f"select distinct key from model_version_tags where key not in {VARYING}",
}


def finished_records(folder: Path) -> dict[str, str]:
    if not (folder / "results/summary.json").exists():
        raise SystemExit(f"golden: {folder} holds no finished study")
    records = {
        "checksums": _checksums(folder),
        "fingerprints": _fingerprints(folder),
        **_weights(folder),
        **_keys(folder),
        **_params(folder),
        **_mlflow(folder),
    }
    return {f"finished: {item}": text for item, text in records.items()}


def outs(folder: Path) -> list[str]:
    """All files that jobs have made, as Snakemake has noted them."""
    return sorted(path for path, _ in _notes(folder) if not OF_A_MOMENT.fullmatch(path))


def md5(path: Path) -> str:
    """As in dvc.lock."""
    return hashlib.md5(path.read_bytes()).hexdigest()


def _notes(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """A long name is cut into folders that begin with an @."""
    notes = folder / ".snakemake/metadata"
    for path in sorted(notes.rglob("*")):
        if path.is_file():
            parts = [part.removeprefix("@") for part in path.relative_to(notes).parts]
            yield urlsafe_b64decode("".join(parts)).decode(), json.loads(path.read_bytes())


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in sorted(set(lines)))


def _checksums(folder: Path) -> str:
    paths = (path for pattern in WITHOUT_WEIGHTS for path in folder.glob(pattern) if path.is_file())
    made = set(outs(folder))
    names = ((path.relative_to(folder).as_posix(), path) for path in paths)
    found = {name: md5(path) for name, path in names if name in made}
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(found.items()))


def _fingerprints(folder: Path) -> str:
    """Of trainings on real text, which are the same everywhere."""
    runs = {path.parent: yaml.safe_load(path.read_bytes()) for path in (folder / RUNS).glob("*/config.yaml")}
    real = [run for run, config in runs.items() if config["target_side"] == "raw"]
    return _lines(f"{json.loads((run / 'best.json').read_bytes())['fingerprint']}  {run.name}" for run in real)


def _weights(folder: Path) -> dict[str, str]:
    """Name, type and shape of each weight, for each kind of run."""
    kinds = defaultdict(set)
    for path in (folder / RUNS).glob("*/model.safetensors"):
        kind = yaml.safe_load((path.parent / "config.yaml").read_bytes())["objective"]["name"]
        kinds[f"weights of {kind}"] |= set(_tensors(path))
    return {item: _lines(lines) for item, lines in kinds.items()}


def _tensors(path: Path) -> Iterator[str]:
    """The header of the file: its length in eight bytes, then JSON."""
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    yield from (f"metadata {key}" for key in header.pop("__metadata__", {}))
    yield from (f"{name} {tensor['dtype']} {tensor['shape']}" for name, tensor in header.items())


def _keys(folder: Path) -> dict[str, str]:
    """Of each kind of JSON file, whatever run and decoding it is of."""
    kinds = defaultdict(set)
    for name in outs(folder):
        if name.endswith((".json", ".jsonl")):
            text = (folder / name).read_text(encoding="utf-8")
            values = [json.loads(part) for part in (text.splitlines() if name.endswith("l") else [text])]
            kinds[f"keys of {_kind(name)}"] |= {path for value in values for path in _key_paths(value)}
    return {item: _lines(lines) for item, lines in kinds.items()}


def _kind(name: str) -> str:
    for pattern, kind in VARIABLE.items():
        name = re.sub(pattern, kind, name)
    return name


def _key_paths(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _key_paths(inner, f"{path}.{key}".lstrip("."))
        return
    if path:
        yield path
    if isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict):
                yield from _key_paths(inner, f"{path}[]")


def _params(folder: Path) -> dict[str, str]:
    """Of each rule, as Snakemake has noted them: with others, what a rule has made is made again."""
    rules = defaultdict(set)
    for _, note in _notes(folder):
        rules[f"params of {note['rule']}"] |= {value for text in note["params"] for value in _values(text)}
    return {item: _lines(lines) for item, lines in rules.items() if lines}


def _values(text: str) -> list[str]:
    """Of one parameter; keys of a configuration are in its file, which has a checksum."""
    value = ast.literal_eval(text)
    values = value if isinstance(value, list) else [value]
    return ["{json}" if str(one).startswith("{") else str(one) for one in values]


def _mlflow(folder: Path) -> dict[str, str]:
    with closing(sqlite3.connect(f"file:{folder / 'mlflow.db'}?mode=ro", uri=True)) as database:
        return {f"mlflow {what}": _lines(name for (name,) in database.execute(q)) for what, q in MLFLOW_NAMES.items()}
