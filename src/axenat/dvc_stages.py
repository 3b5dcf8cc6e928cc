"""The study as DVC sees it: one stage of dvc.yaml for each rule, with the rule's files as its deps and outs.

Each stage asks Snakemake for its files, so that both always agree on what is up to date. Resolved configurations are
files: a key reruns what reads it and nothing else, for both.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from axenat import layout
from axenat.catalogue import FIGURE_NAMES, TIMED
from axenat.corpus_config import SPLITS
from axenat.files import UserError, read_mapping, write_text
from axenat.study import STUDY_KEYS, Study, parse_study
from axenat.study_requests import figure_request, files_of, requests_of, table_request

CONFIG, VERSIONS = "config/config.yaml", "workflow/stage_versions.yaml"
FIRST_LINE = "# Written by `axenat describe` from config/config.yaml; `snakemake` writes it anew after a changed study."
HEADER = f"""{FIRST_LINE}
# A stage is a rule of the workflow, and its command asks Snakemake for the stage's files: `persist` keeps DVC from
# deleting them before Snakemake has looked. Raw text belongs to data.dvc, what a clock says to none: docs/versions.md.
# SMK_EXTRA=--forcerun=train dvc repro -f -s train@ce-raw forces a rerun.
"""
CORPUS, RUN = "results/corpora/${item}", "results/runs/${key}"
Stage = dict[str, Any]


class _OneLine(dict[str, Any]):
    """Written in one line."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    _OneLine, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, flow_style=True)
)


def describe(config: str | Path = CONFIG, out: str | Path = "dvc.yaml") -> bool:
    """Write the study's stages; whether that changed the file. One that was written by hand is not ours to replace."""
    if is_described(config, out):
        return False
    if Path(out).exists() and not _is_ours(out):
        raise UserError(f"{out}: was not written by axenat describe; delete it if it may be replaced")
    write_text(out, text_of(read_mapping(config)))
    return True


def is_described(config: str | Path = CONFIG, out: str | Path = "dvc.yaml") -> bool:
    return Path(out).exists() and Path(out).read_text(encoding="utf-8") == text_of(read_mapping(config))


def check_described(config: str | Path = CONFIG, out: str | Path = "dvc.yaml") -> None:
    """Refuse stages of another study: a run that DVC does not know would be missing from its books in silence."""
    if _is_ours(out) and not is_described(config, out):
        words = "other runs, decodings, grids or tables; run `axenat describe`, and then DVC once more"
        raise UserError(f"{out}: was written for another study than {config} is now, with {words}")


def _is_ours(path: str | Path) -> bool:
    return Path(path).read_text(encoding="utf-8").startswith(FIRST_LINE)


def text_of(values: Mapping[str, Any]) -> str:
    stages = stages_of(values)
    return HEADER + yaml.dump({"stages": stages}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=118)


def stages_of(values: Mapping[str, Any]) -> dict[str, Stage]:
    """By the name of the rule; those of grids and of distilled corpora only if the study has any."""
    study = parse_study(values)
    keys = [key for key in STUDY_KEYS if key in values and key != "resources"]  # what jobs ask for changes no result
    return {
        **_corpus_stages(study),
        **_run_stages(study, values),
        **_distil_stages(study),
        **_decoding_stages(study),
        **_study_stages(study),
        **_shown_stages(study, keys),
    }


def _stage(
    outs: Iterable[str],
    deps: Iterable[str],
    versions: Sequence[str] = (),
    keys: Sequence[str] = (),
    *,
    metrics: Iterable[str] = (),
    plots: Mapping[str, Mapping[str, Any]] | None = None,
    targets: Iterable[str] = (),
) -> Stage:
    """Metrics and plots are outs like the others; `targets` are further files for which Snakemake is asked."""
    outs, metrics, plots = list(outs), list(metrics), plots or {}
    asked = " ".join([*(out for out in outs if not out.endswith("/")), *metrics, *plots, *targets])
    params = [{file: list(names)} for file, names in ((CONFIG, keys), (VERSIONS, versions)) if names]
    kept: dict[str, Any] = {
        "outs": [{out.removesuffix("/"): _OneLine(persist=True)} for out in outs],
        "metrics": [{path: _OneLine(persist=True)} for path in metrics],
        "plots": [{path: _OneLine(persist=True, **axes)} for path, axes in plots.items()],
    }
    return {
        "cmd": f"snakemake --cores all $SMK_EXTRA -- {asked}",
        **({"deps": list(dict.fromkeys(deps))} if deps else {}),
        "params": params,
        **{kind: paths for kind, paths in kept.items() if paths},
    }


def _each(items: Mapping[str, Mapping[str, Any]] | Sequence[str], stage: Stage) -> Stage:
    written = list(items) if isinstance(items, Sequence) else {key: _OneLine(item) for key, item in items.items()}
    return {"foreach": written, "do": stage}


def _corpus_stages(study: Study) -> dict[str, Stage]:
    trained = [corpus for corpus in study.corpora if corpus in {run.corpus for run in study.runs.values()}]
    several = [corpus for corpus in trained if study.corpora[corpus].references > 1]
    raw = [f"{stage}-{split}" for stage in ("download", "clean") for split in SPLITS]
    sections = {name: f"{CORPUS}/config/{name}.yaml" for name in (*raw, "subwords", "analysis")}
    own = [corpus.folder for corpus in study.corpora.values() if corpus.folder]
    clean = {split: [f"{CORPUS}/clean/{split}.{side}" for side in ("source", "target")] for split in SPLITS}
    counts = [f"{CORPUS}/clean/{split}.counts.json" for split in SPLITS]
    ids = [f"{CORPUS}/raw/{split}.safetensors" for split in ("train", "valid")]
    texts = [path for paths in clean.values() for path in paths]
    read = [sections["clean-test"], clean["test"][1], "data/${item}"]
    references = _stage([f"{CORPUS}/clean/test.references"], read, ["clean_references"])
    return {
        "configure_corpus": _each(trained, _stage(sections.values(), [], keys=["corpora.${item}"])),
        "clean": _each(
            trained,
            # The raw text is made on the way where it is not what the configuration says.
            _stage(
                [*texts, *counts], ["data", *own, *(sections[name] for name in raw)], ["download", "clean"],
                targets=["data/${item}/origin.yaml"],
            ),
        ),
        **({"clean_references": _each(several, references)} if several else {}),
        "learn_subwords": _each(
            trained,
            _stage(
                [f"{CORPUS}/subwords/"], [sections["subwords"], *clean["train"]], ["learn_subwords"],
                targets=layout.subwords("${item}"),
            ),
        ),
        "encode": _each(trained, _stage(ids, [*clean["train"], *clean["valid"], f"{CORPUS}/subwords"], ["encode"])),
    }  # fmt: skip


def _run_stages(study: Study, values: Mapping[str, Any]) -> dict[str, Stage]:
    runs = {name: {"corpus": run.corpus, "target_side": run.target_side} for name, run in study.runs.items()}
    keys = [*(["recipes"] if "recipes" in values else []), *_corpus_keys(values["corpora"]), "runs.${item.written}"]
    written = {
        name: {"corpus": item["corpus"], "written": _written(name, values["runs"])} for name, item in runs.items()
    }
    corpus = "results/corpora/${item.corpus}"
    ids = [f"{corpus}/${{item.target_side}}/train.safetensors", f"{corpus}/raw/valid.safetensors"]
    valid = [f"{corpus}/clean/valid.{side}" for side in ("source", "target")]
    subwords = f"{corpus}/subwords"
    files = [f"{RUN}/{name}" for name in ("model.safetensors", *layout.SUBWORD_FILES)]
    curve, tuning = {"x": "step", "y": "loss"}, {"x": "value", "y": "bleu"}
    tuned_on = [*layout.model("${key}"), *valid, "data/${item.corpus}"]

    def training(*start: str) -> Stage:
        outs, deps = [f"{RUN}/history.jsonl", f"{RUN}/best.json"], [f"{RUN}/config.yaml", *ids, subwords, *start]
        return _stage(outs, deps, ["train"], plots={f"{RUN}/valid.csv": curve})

    firsts = {name: run.start_from for name, run in study.runs.items() if run.start_from}
    others = {name: item for name, item in runs.items() if name not in firsts}
    started = {name: {**runs[name], "start": first} for name, first in firsts.items()}
    weights = "results/runs/${item.start}/model.safetensors"
    return {
        "configure_run": _each(written, _stage([f"{RUN}/config.yaml", f"{RUN}/decode.yaml"], [], keys=keys)),
        "train": _each(others, training()),
        # Of the same rule; DVC wants the same deps of each item of a stage.
        **({"train_from": _each(started, training(weights))} if started else {}),
        "average": _each(runs, _stage(files, [f"{RUN}/best.json", subwords], ["average"])),
        "tune": _each(runs, _stage([], tuned_on, ["tune"], plots={f"{RUN}/tuned.json": tuning})),
    }  # fmt: skip


def _corpus_keys(corpora: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What runs take over from their corpus; all of it, where a corpus leaves some of that to its defaults."""
    read = ("source_language", "target_language", "subwords")
    said = all(key in corpus for corpus in corpora.values() for key in read)
    return [f"corpora.${{item.corpus}}.{key}" for key in read] if said else ["corpora.${item.corpus}"]


def _written(run: str, names: Iterable[str]) -> str:
    """The key that a run is written under: its own, or that of the grid or the repeats it belongs to."""
    return max((name for name in names if run == name or run.startswith(f"{name}-")), key=len)


def _distil_stages(study: Study) -> dict[str, Stage]:
    taught = {name: {"teacher": corpus.distil.teacher} for name, corpus in study.corpora.items() if corpus.distil}
    used = {run.corpus for run in study.runs.values() if run.target_side == "distilled"}
    corpora = {name: item for name, item in taught.items() if name in used}
    if not corpora:
        return {}
    corpus = "results/corpora/${key}"
    real = [f"{corpus}/{name}" for name in ("config/clean-train.yaml", "clean/train.source", "clean/train.target")]
    distilled = ("shards/", "train.target", "manifest.json")
    return {
        # Together with `gather`: only Snakemake counts the shards.
        "distil": _each(
            corpora,
            _stage(
                [f"{corpus}/config/distil.yaml", *(f"{corpus}/distilled/{name}" for name in distilled)],
                [*layout.tuned_model("${item.teacher}"), *real], ["distil", "gather"], ["corpora.${key}.distil"],
            ),
        ),
        "encode_distilled": _each(
            list(corpora),
            _stage(
                [f"{CORPUS}/distilled/train.safetensors"],
                [f"{CORPUS}/clean/train.source", f"{CORPUS}/distilled/train.target", f"{CORPUS}/subwords"],
                ["encode"],
            ),
        ),
    }  # fmt: skip


def _decoding_stages(study: Study) -> dict[str, Stage]:
    own = {run: {"corpus": item.corpus, "decode": item.decode_name} for run, item in study.runs.items()}
    decodings = {
        f"{run}-{decode}": {"run": run, "corpus": item.corpus, "decode": decode}
        for run, item in study.runs.items()
        for decode in item.decode_names
    }
    words = {corpus: Path(layout.reference_words(study, corpus, "test")[0]).suffix[1:] for corpus in study.corpora}
    scored = {name: {**item, "words": words[item["corpus"]]} for name, item in decodings.items()}
    folder, raw, corpus = "results/runs/${item.run}", "data/${item.corpus}", "results/corpora/${item.corpus}"
    source, target = f"{corpus}/clean/test.source", f"{corpus}/clean/test.target"
    compared = [raw, f"{corpus}/clean/test.${{item.words}}", f"{corpus}/subwords/text.yaml"]
    outputs = [f"{folder}/test/${{item.decode}}.{ending}" for ending in ("txt", "tok.txt", "bpe.txt", "engine.json")]
    return {
        "translate": _each(decodings, _stage(outputs, [*layout.tuned_model("${item.run}"), source], ["translate"])),
        "score": _each(
            scored,
            _stage(
                [f"{folder}/test/${{item.decode}}.score.json"],
                [*outputs, *compared, f"{folder}/config.yaml", f"{folder}/tuned.json"], ["score"],
                metrics=[f"{folder}/test/${{item.decode}}.metrics.json"],
            ),
        ),
        "analyse": _each(
            own,
            _stage(
                [f"{RUN}/test/${{item.decode}}.analysis.json"],
                [f"{corpus}/config/analysis.yaml", *layout.tuned_model("${key}"), f"{RUN}/test/${{item.decode}}.txt",
                 raw, source, target], ["analyse"],
            ),
        ),
    }  # fmt: skip


def _study_stages(study: Study) -> dict[str, Stage]:
    runs, choices = list(study.runs), layout.choices(study)
    scores = [layout.output(study, run, "test", "score.json") for run in runs]
    further = [path for run in runs for path in layout.further_outputs(study, run, "test", "score.json")]
    texts, subwords = ([layout.output(study, run, "test", ending) for run in runs] for ending in ("txt", "bpe.txt"))
    members = [run for grid in study.grids.values() for run in grid.runs]
    compared = [f"results/runs/{run}/{name}" for run in members for name in ("tuned.json", "config.yaml")]
    results = [f"results/tables/results.{ending}" for ending in ("md", "csv", "txt")]
    stages = {"choose": _stage(choices, compared, ["choose"])} if choices else {}
    data = [f"data/{run.corpus}" for run in study.runs.values()]
    deps = [*scores, *further, *choices, *texts, *subwords, *data]
    stages["summarise"] = _stage(["results/summary.json", *results], deps, ["summarise"], ["study"])
    return stages


def _shown_stages(study: Study, keys: Sequence[str]) -> dict[str, Stage]:
    """Tables, figures and the page. Only their requests look at the study as a whole.

    What a clock says, results/speed, is made on the way and belongs to no stage: no two measurements agree.
    """
    steady = [name for name in study.tables if name not in TIMED]
    tables = [layout.table_file(name, ending) for name in steady for ending in layout.TABLE_FORMS]
    stages = {"configure_requests": _stage(map(layout.request_file, requests_of(study)), [], keys=keys)}
    if steady:
        read = ["config/paper.yaml", *_read_by(study, *map(table_request, steady))]
        stages["tables"] = _stage(tables, read, ["tables"])
    drawn = _read_by(study, *map(figure_request, FIGURE_NAMES))
    plots: dict[str, dict[str, Any]] = {path: {} for path in layout.figures("svg")}
    stages["figures"] = _stage(layout.figures("figure.json"), drawn, ["figures"], plots=plots)
    page = [path for path in _read_by(study, "report") if not path.startswith("results/speed/")]
    stages["report"] = _stage(["results/report.html"], page, ["report"])
    return stages


def _read_by(study: Study, *requests: str) -> list[str]:
    """The requests, and the records that they name. Raw text is one folder for each corpus."""
    found = [path for name in requests for path in (layout.request_file(name), *files_of(study, name))]
    return [str(Path(path).parent) if path.startswith("data/") else path for path in found]
