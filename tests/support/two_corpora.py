"""A study in which nothing is like its neighbour: corpora, languages, teachers, sides, splits, decodings, processors.

RUNS and CORPORA say by hand what STUDY means, so that laws about the workflow need no code of the workflow.
"""

from dataclasses import dataclass

STUDY = """
study: two
corpora:
  one:
    source_language: en
    target_language: de
    grammar: {seed: 1, train: 100, valid: 5, test: 7}
    references: 3
    judged: true
    distil: {teacher: teacher-one, shards: 2}
  two:
    source_language: ro
    target_language: fr
    folder: texts
    references: 2
    distil: {teacher: teacher-two, shards: 3}
  three:
    source_language: de
    target_language: en
    recipe: multi30k
recipes:
  small:
    model: {width: 16, heads: 2}
    train: {steps: 10}
    decode: {beam_size: 3, num_length_candidates: 4}
runs:
  teacher-one: {recipe: small, corpus: one, objective: {name: left_to_right}}
  plain-one: {recipe: small, corpus: one, objective: {name: masked}}
  ce-one: {recipe: small, corpus: one, objective: {name: masked}, target_side: distilled}
  axe-one: {recipe: small, corpus: one, objective: {name: axe, skip_target_penalty: [1.5, 2]}}
  teacher-two: {recipe: small, corpus: two, objective: {name: left_to_right}, decode: {beam_size: 6, also: [beam1]}}
  ce-two: {recipe: small, corpus: two, objective: {name: masked}, decode: {also: []}}
  axe-two:
    recipe: small
    corpus: two
    objective: {name: axe, skip_target_penalty: [1.5, 3]}
    target_side: distilled
    start_from: ce-two
    decode: {num_length_candidates: 2, also: [ell5-t4]}
  plain-three: {recipe: small, corpus: three, objective: {name: left_to_right}}
resources:
  teacher: base
  download: {runtime: 11}
  clean: {cpus: 2, runtime: 12}
  learn_subwords: {cpus: 3, runtime: 13}
  encode: {cpus: 4, runtime: 14}
  train: {cpus: 5, runtime: 15, tasks: 6, nodes: 2, gpus: 0}
  average: {runtime: 16}
  tune: {cpus: 8, runtime: 17, gpus: 0}
  distil: {cpus: 7, runtime: 18, gpus: 0}
  gather: {runtime: 19}
  translate: {cpus: 9, runtime: 20}
  score: {runtime: 21}
  analyse: {cpus: 10, runtime: 22}
  choose: {runtime: 23}
  speed: {cpus: 11, runtime: 24}
  summarise: {runtime: 25}
  tables: {runtime: 26}
  figures: {runtime: 27}
  report: {runtime: 28}
"""
# Of each stage, and of the rule for distilled ids, which asks for one.
THREADS = {
    "clean": 2,
    "learn_subwords": 3,
    "encode": 4,
    "encode_distilled": 1,
    "train": 5,
    "distil": 7,
    "tune": 8,
    "translate": 9,
    "analyse": 10,
    "speed": 11,
}
# Minutes.
RUNTIMES = {
    "download": 11,
    "clean": 12,
    "clean_references": 21,
    "learn_subwords": 13,
    "encode": 14,
    "train": 15,
    "average": 16,
    "tune": 17,
    "distil": 18,
    "gather": 19,
    "translate": 20,
    "score": 21,
    "analyse": 22,
    "choose": 23,
    "speed": 24,
    "summarise": 25,
    "tables": 26,
    "figures": 27,
    "report": 28,
}
# Megabytes of jobs about teachers, who are of another size than their students.
MEMORY, MEMORY_OF_TEACHERS = 2_000, {"train": 64_000, "average": 8_000, "tune": 16_000, "distil": 16_000}
SUBWORDS = ("codes", "vocab", "pieces", "truecase")


@dataclass(frozen=True)
class Corpus:
    name: str
    source_language: str
    target_language: str
    references: int = 1
    judged: bool = False
    teacher: str = ""
    shards: int = 0
    archives: bool = False
    folder: str = ""


@dataclass(frozen=True)
class Run:
    name: str
    corpus: str
    decodings: tuple[str, ...]
    target_side: str = "raw"
    start_from: str = ""
    grid: str = ""


CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus("one", "en", "de", references=3, judged=True, teacher="teacher-one", shards=2),
        Corpus("two", "ro", "fr", references=2, teacher="teacher-two", shards=3, folder="texts"),
        Corpus("three", "de", "en", archives=True),
    )
}
RUNS = {
    run.name: run
    for run in (
        Run("teacher-one", "one", ("beam3",)),
        Run("plain-one", "one", ("ell4", "ell1")),
        Run("ce-one", "one", ("ell4", "ell1"), target_side="distilled"),
        Run("axe-one-delta1.5", "one", ("ell4", "ell1"), grid="axe-one"),
        Run("axe-one-delta2", "one", ("ell4", "ell1"), grid="axe-one"),
        Run("teacher-two", "two", ("beam6", "beam1")),
        Run("ce-two", "two", ("ell4",)),
        Run("axe-two-delta1.5", "two", ("ell2", "ell5-t4"), "distilled", "ce-two", "axe-two"),
        Run("axe-two-delta3", "two", ("ell2", "ell5-t4"), "distilled", "ce-two", "axe-two"),
        Run("plain-three", "three", ("beam3",)),
    )
}
GRIDS = ("axe-one", "axe-two")
# Speed is compared between a teacher, a cross entropy run and an AXE run of each corpus, distilled ones first.
COMPARED = (
    ("teacher-one", "beam3"),
    ("ce-one", "ell4"),
    ("ce-one", "ell1"),
    ("axe-one-delta1.5", "ell4"),
    ("axe-one-delta1.5", "ell1"),
    ("teacher-two", "beam6"),
    ("teacher-two", "beam1"),
    ("ce-two", "ell4"),
    ("axe-two-delta1.5", "ell2"),
    ("axe-two-delta1.5", "ell5-t4"),
    ("plain-three", "beam3"),
)


def own_files() -> list[str]:
    """The text that the user of the second corpus brings along."""
    names = [f"{split}.{language}" for split in ("train", "valid", "test") for language in ("ro", "fr")]
    return [f"texts/{name}" for name in (*names, "valid.ref1.fr", "test.ref1.fr")]
