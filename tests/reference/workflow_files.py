"""What a job of the study in tests/support/two_corpora.py runs, reads and writes, worked out by hand."""

from typing import Any

from tests.reference.workflow_stages import STAGES
from tests.support.planned_jobs import Job
from tests.support.two_corpora import COMPARED, CORPORA, GRIDS, RUNS, SUBWORDS, THREADS, Corpus, Run

SUBWORD_FILES = (*(f"{name}.{side}" for name in SUBWORDS for side in ("source", "target")), "text.yaml")
MODEL_FILES = ("config.yaml", "decode.yaml", "model.safetensors", *SUBWORD_FILES)
SPLITS = ("train", "valid", "test")
ARCHIVES = "data/archives/raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
ARCHIVE_NAMES = {"train": "train", "valid": "val", "test": "test_2016_flickr"}


# Runs of tables, and their records in addition to configurations and tuned values.
STUDENTS = [run for run in RUNS.values() if run.decodings[0].startswith("ell")]
ALL, AXE = list(RUNS.values()), [run for run in STUDENTS if run.grid]
CAUSAL_OR_DISTILLED = [run for run in ALL if run not in STUDENTS or run.target_side == "distilled"]
SCORED, ANALYSED = "scores choices", "scores choices analyses"
TABLES: dict[str, tuple[list[Run], str]] = {
    "axe_against_ce": (STUDENTS, SCORED),
    "systems": (CAUSAL_OR_DISTILLED, SCORED),
    "target_sides": (ALL, SCORED),
    "training_objectives": (AXE, ""),
    "skip_target_penalty": (AXE, "choices"),
    "length_multiplier": (STUDENTS, "choices"),
    "lengths": (ALL, ANALYSED),
    "confidence": (STUDENTS, ANALYSED),
    "repetitions": (ALL, SCORED),
    "speed": (ALL, "speed"),
    "decodings": (ALL, f"{SCORED} further"),
    "corpora": ([], "origins raw counts"),
    "conventions": (ALL, SCORED),
    "seeds": (ALL, f"{SCORED} further"),
}
# A figure shows the runs of the table of its name. Two begin with the teachers of distilled students.
WITH_TEACHERS = [*(run for run in ALL if run.name.startswith("teacher")), *STUDENTS]
FIGURES: dict[str, tuple[list[Run], str]] = {
    "axe_against_ce": (WITH_TEACHERS, SCORED),
    "target_sides": TABLES["target_sides"],
    "skip_target_penalty": TABLES["skip_target_penalty"],
    "length_multiplier": (WITH_TEACHERS, "choices"),
    "lengths": TABLES["lengths"],
    "confidence": TABLES["confidence"],
    "repetitions": TABLES["repetitions"],
    "training": (ALL, "histories"),
    "alignment": (ALL, ANALYSED),
}


def expected(job: Job) -> tuple[list[str], list[str], list[str]]:
    """Its words after the stage, what it reads that its command does not name, and what it writes."""
    stage, words = STAGES[job.stage], {**study_words(), **job_words(job)}
    command, reads, writes = (text.format_map(words).split() for text in (stage.command, stage.reads, stage.writes))
    writes += [word[1:] for word in command if word.startswith("@")]
    return [word.removeprefix("@") for word in command], reads, writes


def threads_of(job: Job) -> int:
    return THREADS.get(job.rule, THREADS.get(job.stage, 1))


def job_words(job: Job) -> dict[str, str]:
    words: dict[str, str] = {**job.wildcards, "threads": str(threads_of(job))}
    if job.stage == "download":
        words["corpus"], words["split"] = job.rule.split("_")[1:]
    run = RUNS.get(words.get("run", ""))
    if run:
        words |= {"corpus": run.corpus, "side": run.target_side, "start": _in([run.start_from], "model.safetensors")}
        words |= {"model": _in([run.name], *MODEL_FILES), "own_subwords": _in([run.name], *SUBWORD_FILES)}
    if "corpus" in words:
        words |= _corpus_words(CORPORA[words["corpus"]], words.get("split", ""), words.get("variant", ""))
    if "grid" in words:
        members = [run.name for run in ALL if run.grid == words["grid"]]
        words |= {"grid_tuned": _in(members, "tuned.json"), "grid_configs": _in(members, "config.yaml")}
    if job.stage == "tables":
        table = words.setdefault("table", "speed")
        words |= {"folder": "speed" if table == "speed" else "tables", **_records(*TABLES[table])}
    return {**words, **_records(*FIGURES[words["figure"]])} if "figure" in words else words


def _corpus_words(corpus: Corpus, split: str, variant: str) -> dict[str, str]:
    folder, distilled = f"results/corpora/{corpus.name}", (variant, split) == ("distilled", "train")
    judged = f"data/{corpus.name}/{split}.accept" if corpus.judged and split != "train" else ""
    parts = [f"{folder}/distilled/shards/{number + 1}-of-{corpus.shards}" for number in range(corpus.shards)]
    languages = (corpus.source_language, corpus.target_language)
    references = [f"{split}.ref{number}.{languages[1]}" for number in range(1, corpus.references) if split != "train"]
    own = [f"{split}.{language}" for language in languages] + references
    source, target = (f"data/{corpus.name}/{split}.{language}" for language in languages)
    clean = f"{folder}/clean/{split}"
    # Of train, the words are those of some lines only: whatever has to do with all of its lines reads the plain text.
    held_out = split != "train"
    ending = "references" if corpus.references > 1 else "target"
    return {
        "source": source,
        "target": target,
        "text": f"{source} {target}",
        "to_translate": f"--input-words {clean}.source" if held_out else f"--input {source}",
        "reference_words": f"--reference-words {clean}.{ending}" if held_out else "",
        "words_of_both": f"--source-words {clean}.source --target-words {clean}.target" if held_out else "",
        "references": " ".join([target, *(f"data/{corpus.name}/{name}" for name in references)]),
        "further_references": " ".join(_references(corpus, split)[1:]),
        "valid_references": " ".join(_references(corpus, "valid")),
        "accept": judged,
        "accept_flag": f"--accept {judged}" if judged else "",
        "archives": _archives(languages, split) if corpus.archives else "",
        "own": " ".join(f"{corpus.folder}/{name}" for name in own) if corpus.folder else "",
        "subwords": " ".join(f"{folder}/subwords/{name}" for name in SUBWORD_FILES),
        "words": f"{folder}/distilled/train.target" if distilled else f"{folder}/clean/{split}.target",
        "teacher": corpus.teacher,
        "teacher_model": _in([corpus.teacher], *MODEL_FILES, "tuned.json"),
        "shard_targets": " ".join(f"{part}.target" for part in parts),
        "shard_records": " ".join(f"{part}.json" for part in parts),
    }


def _references(corpus: Corpus, split: str) -> list[str]:
    names = [split, *(f"{split}.ref{number}" for number in range(1, corpus.references))]
    return [f"data/{corpus.name}/{name}.{corpus.target_language}" for name in names]


def _archives(languages: tuple[str, str], split: str) -> str:
    name = ARCHIVE_NAMES.get(split, "")
    return " ".join(f"{ARCHIVES}/{name}.{language}.gz" for language in languages)


def _in(runs: list[str], *names: str) -> str:
    return " ".join(f"results/runs/{run}/{name}" for run in runs if run for name in names)


def _outputs(runs: list[Run], *endings: str, own: bool = True) -> str:
    """Of the decoding that a run is tuned for, or of its others."""
    return " ".join(
        f"results/runs/{run.name}/test/{name}.{ending}"
        for ending in endings
        for run in runs
        for name in (run.decodings[:1] if own else run.decodings[1:])
    )


def _records(runs: list[Run], names: str) -> dict[str, str]:
    """Empty but for those that are named."""
    members, read = [run.name for run in runs], names.split()
    grids = [grid for grid in GRIDS if any(run.grid == grid for run in runs)]
    found = {
        "scores": _outputs(runs, "score.json"),
        "further": _outputs(runs, "score.json", own=False),
        "analyses": _outputs(runs, "analysis.json"),
        "choices": " ".join(f"results/choices/{grid}.json" for grid in grids),
        "origins": " ".join(f"data/{corpus}/origin.yaml" for corpus in CORPORA),
        "raw": " ".join(f"data/{corpus}/{split}.json" for corpus in CORPORA for split in SPLITS),
        "counts": _counts(),
        "speed": "results/speed/speed.json",
        "histories": _in(members, "history.jsonl"),
    }
    kept = {name: paths if name in read else "" for name, paths in found.items()}
    tuned = "" if "histories" in read else _in(members, "tuned.json")
    runs_too = {"runs": " ".join(f"results/runs/{run}" for run in members), "tuned": tuned}
    return {**kept, **runs_too, "configs": _in(members, "config.yaml")}


# Requests name records of the study, and folders of runs in place of the files in them.
REQUESTS = (*(f"tables-{name}" for name in TABLES), *(f"figures-{name}" for name in FIGURES), "report", "report_so_far")
RECORDS = ("scores", "further", "choices", "origins", "raw", "counts", "speed")


def request(name: str) -> dict[str, Any]:
    """What it says. Numbers of jobs and sentences about missing runs are left out, for they name no files."""
    stage, _, item = name.partition("-")
    said: dict[str, Any] = {"study": "two"}
    if stage in ("tables", "report_so_far"):
        said |= {"teachers": ["teacher-one", "teacher-two"], "paper": "config/paper.yaml", "published": "wmt14-en-de"}
    if item:
        runs, kinds = (TABLES if stage == "tables" else FIGURES)[item]
        in_folders = ("histories" if "histories" in kinds else "tuned", *(["analyses"] if "analyses" in kinds else []))
        said |= {"names": [item]} | ({"parts": ["config", *in_folders]} if runs else {})
    else:
        runs, kinds = ALL, "scores further choices origins" + (" raw counts speed" if stage == "report_so_far" else "")
        said |= {"documents": ["config/README.md"]} | ({} if stage == "report" else {"names": list(TABLES)})
    if stage == "report":
        words = study_words()
        shown = {kind: words[f"all_{kind}"].split() for kind in ("tables", "figures")}
        said |= {"summary": ["results/summary.json"], **shown}
    found = _records(runs, kinds)
    said |= {kind: found[kind].split() for kind in ("runs", *RECORDS) if found[kind]}
    return said


def _counts() -> str:
    return " ".join(f"results/corpora/{corpus}/clean/{split}.counts.json" for corpus in CORPORA for split in SPLITS)


def study_words() -> dict[str, str]:
    """What stages of the whole study read: every run, corpus, grid, table and figure, each once and in order."""
    every = "scores further analyses choices origins raw counts histories"
    words = {f"all_{name}": paths for name, paths in _records(ALL, every).items()}
    sources = [(CORPORA[RUNS[run].corpus], run) for run, _ in COMPARED]
    return {
        **words,
        "all_tuned": _in(list(RUNS), "tuned.json"),
        "all_best": _in(list(RUNS), "best.json"),
        "all_references": " ".join(path for corpus in CORPORA.values() for path in _references(corpus, "test")),
        "all_texts": _outputs(ALL, "txt", "bpe.txt"),
        "all_tables": " ".join(
            f"results/{'speed' if name == 'speed' else 'tables'}/{name}.table.json" for name in TABLES
        ),
        "all_figures": " ".join(f"results/figures/{name}.figure.json" for name in FIGURES),
        "compared": " ".join(f"results/runs/{run}:{decode}" for run, decode in COMPARED),
        "compared_models": _in(list(dict.fromkeys(run for run, _ in COMPARED)), *MODEL_FILES, "tuned.json"),
        "compared_sources": " ".join(f"data/{corpus.name}/test.{corpus.source_language}" for corpus, _ in sources),
    }
