"""How records are compared: what is recorded must stay, and what is new is named."""

import re
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import machine, present, store
from tests.golden.__main__ import main
from tests.golden.facts import LONGEST_LINE, entry, facts_of_entries, lacking
from tests.golden.finished import md5, outs
from tests.golden.present import dvc_parts, dvc_stages, option_lines

NAMES = st.sampled_from(["config.yaml", "a b", "test.de", "test.en", "x,y", "{json}", "é", ""])
FOLDERS = st.sampled_from(["", "data/demo/", "<results/runs/ce-raw/", "a b/", "/"])
PATHS = st.builds(str.__add__, FOLDERS, NAMES)
LINES = st.lists(st.sampled_from("abc"), max_size=6)
RECORDED = {
    "tiny: file a.yaml": "a: 1\n",
    "tiny: job train run=ce": "train\n--config <a.yaml\noutput r/{x,y}\n",
    "house: help of axenat": "usage\n train\n tune\n",
    "wmt: jobs of run ce": "sha256 " + 64 * "0" + "\n",
}


@given(st.lists(PATHS, max_size=8))
def test_an_entry_tells_each_of_its_values_again(values) -> None:
    text = entry("--name", values)
    assert facts_of_entries(text) == ["--name", *(f"--name {value}" for value in values)]
    long = len(" ".join(["--name", *values])) > LONGEST_LINE
    assert "\n" not in text or long or any(not value or " " in value for value in values)


def test_files_of_one_folder_are_written_as_one_word() -> None:
    assert entry("input", ["a/b/c", "a/b/d", "a/e"]) == "input a/b/{c,d} a/e"


@given(LINES, LINES)
def test_nothing_is_lacking_exactly_if_the_rest_can_be_crossed_out(recorded, now) -> None:
    def can_be_left(lines, kept):
        return not kept or any(
            line == kept[0] and can_be_left(lines[place + 1 :], kept[1:]) for place, line in enumerate(lines)
        )

    assert (lacking(recorded, now) == []) == can_be_left(now, recorded)


def test_records_are_read_as_they_were_written(tmp_path) -> None:
    store.write_records(RECORDED, tmp_path)
    assert store.read_records(tmp_path) == RECORDED
    assert {path.name for path in tmp_path.iterdir()} == {"tiny.txt", "house.txt", "sums.txt"}
    store.write_records({"house: help of axenat": "usage\n"}, tmp_path)
    assert store.read_records(tmp_path) == {"house: help of axenat": "usage\n"}


def test_a_checksum_is_kept_of_what_is_too_long_to_be_kept() -> None:
    texts = dict.fromkeys(("tiny: file a", "wmt: file a", "wmt: jobs of run x", "wmt: outputs of table"), "a\n")
    summed = {name for name, text in store.kept(texts).items() if text != "a\n"}
    assert summed == {"wmt: file a", "wmt: jobs of run x"}
    assert store.kept({"wmt: file a": "a\n"}) != store.kept({"wmt: file a": "a \n"})


@pytest.mark.parametrize(
    ("name", "text", "kind", "says"),
    [
        (
            "tiny: file a.yaml",
            "a: 1\nb: 2\n",
            "changed",
            "differs from its record; to see how: .* --diff 'tiny: file a",
        ),
        (
            "tiny: job train run=ce",
            "train\n--config <a.yaml\noutput r/x\n",
            "changed",
            "lacks 'output r/y'; to see how",
        ),
        ("tiny: job train run=ce", "train\n--config <a.yaml\noutput r/{y,x}\n", "changed", "lacks 'output r/y'"),
        ("tiny: job train run=ce", "train\n--config <a.yaml\noutput r/{x,y,z}\n", "grown", "also has 'output r/z'"),
        ("house: help of axenat", "usage\n train\n new\n tune\n", "grown", "also has 'new'; to record it: .* --add"),
        ("house: help of axenat", "usage\n", "changed", "lacks 'train' and 1 more"),
        ("wmt: jobs of run ce", "sha256 " + 64 * "1" + "\n", "changed", "differs from its record"),
        ("tiny: job train run=ctc", "train\n", "new", "not recorded yet; to record it: .* --add"),
    ],
)
def test_a_difference_is_one_sentence_about_one_record(name, text, kind, says) -> None:
    (found,) = store.differences(RECORDED, {**RECORDED, name: text})
    assert (found.name, found.kind) == (name, kind)
    assert re.search(says, found.sentence) and found.sentence.startswith(f"{name}: ") and "\n" not in found.sentence


def test_a_record_that_is_gone_is_named() -> None:
    (found,) = store.differences(RECORDED, {name: text for name, text in RECORDED.items() if "help" not in name})
    assert found == store.Difference(
        "house: help of axenat", "gone", "house: help of axenat: recorded, and no longer there"
    )


@pytest.fixture
def golden(tmp_path, monkeypatch):
    """The tool, with records in a folder, of a study that is as the test says."""
    store.write_records(RECORDED, tmp_path)

    def call(*words: str, **today: str) -> tuple[int, dict[str, str]]:
        now = {**RECORDED, **{name.replace("__", ": "): text for name, text in today.items()}}
        texts = {name: text for name, text in now.items() if text}
        monkeypatch.setattr(present, "studies", lambda tree: ["tiny", "wmt"])
        monkeypatch.setattr(present, "study_records", lambda study, tree: _of(study, texts))
        monkeypatch.setattr(present, "house_records", lambda tree: _of("house", texts))
        monkeypatch.setattr(store, "kept", lambda records: records)
        return main(list(words), tmp_path), store.read_records(tmp_path)

    return call


def _of(study: str, texts: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if name.startswith(f"{study}: ")}


NEW, CHANGED = {"tiny__job new": "train\n"}, {"tiny__file a.yaml": "a: 2\n"}


def test_the_tool_fails_while_anything_differs(golden, capsys) -> None:
    assert golden() == (0, RECORDED)
    assert golden(**NEW) == (1, RECORDED)
    assert "tiny: job new: not recorded yet" in capsys.readouterr().out
    assert golden("house: *", **NEW) == (0, RECORDED), "nobody has asked for it"


def test_what_is_new_is_added_and_what_differs_only_if_it_is_named(golden, capsys) -> None:
    code, records = golden("--add", **NEW, **CHANGED)
    assert code == 1 and records == {**RECORDED, "tiny: job new": "train\n"}
    assert "if that is meant: python -m tests.golden --replace 'tiny: file a.yaml'" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="--replace needs names"):
        golden("--replace", **CHANGED)
    gone = {"house__help of axenat": ""}
    code, records = golden("--replace", "tiny: file*", **NEW, **CHANGED, **gone)
    assert code == 0 and records["tiny: file a.yaml"] == "a: 2\n" and "house: help of axenat" in records
    code, records = golden("--replace", "house: help*", **gone)
    assert code == 0 and "house: help of axenat" not in records


def test_differences_are_shown_line_by_line(golden, capsys) -> None:
    assert golden("--diff", "tiny: *", **CHANGED)[0] == 1
    shown = capsys.readouterr().out
    assert "-a: 1\n+a: 2\n" in shown and "train" not in shown
    assert golden("--show", "tiny: file*", **CHANGED)[0] == 0
    assert capsys.readouterr().out == "=== tiny: file a.yaml\na: 2\n"


def dvc_yaml(outs: list[str]) -> str:
    stages = {
        "train": {"foreach": {"ce": {"corpus": "demo"}, "axe": {"run": "ce"}}, "do": {"cmd": "snakemake ${key}"}},
        "report": {"cmd": f"snakemake -- {' '.join(outs)}", "deps": ["data"], "outs": outs},
    }
    return "# Written\n" + yaml.dump({"stages": stages}, sort_keys=False, width=40)


def test_a_stage_of_dvc_is_as_it_stands_but_for_where_its_command_is_broken() -> None:
    text = dvc_yaml(["results/a", "results/b", "results/c"])
    head, train, report = dvc_stages(text).values()
    assert head == "# Written\nstages:\n" and "cmd:\n        snakemake\n        ${key}\n" in train
    words = "".join(f"      {word}\n" for word in ("snakemake", "--", "results/a", "results/b", "results/c"))
    assert report == f"report:\n    cmd:\n{words}{text[text.index('    deps:') :]}"
    more = dvc_stages(dvc_yaml(["results/a", "results/new/and/long", "results/b", "results/c"]))["dvc stage report"]
    assert lacking(report.splitlines(), more.splitlines()) == []


def test_a_new_run_changes_neither_patterns_nor_entries_of_other_runs() -> None:
    text = dvc_yaml(["results/a"])
    more = text.replace("foreach:\n", "foreach:\n      new:\n        corpus: demo\n")
    parts, now = dvc_parts(text), dvc_parts(more)
    assert parts.keys() == {"dvc pattern train", "dvc entries of ce"} and "dvc entries of new" in now
    assert parts == {name: text for name, text in now.items() if name in parts}


HELP = "usage: axenat x [-h] [--a A] --bc B [B ...]\n\nSays what.\n\noptions:\n  -h, --help  show\n  --a A       an a\n"


def test_a_new_option_adds_lines_to_the_help_and_changes_none() -> None:
    more = (
        HELP.replace("--bc", "--new N --bc")
        .replace("help  show", "help      show")
        .replace("A       an", "A           an")
    )
    assert lacking(option_lines(HELP).splitlines(), option_lines(more).splitlines()) == []
    assert "--bc B [B ...]" in option_lines(HELP).splitlines()
    assert lacking(option_lines(HELP).splitlines(), option_lines(HELP.replace("--bc B", "--bc C")).splitlines())


VALUES = st.recursive(
    st.sampled_from([0, 1, 1.0, "a", None, True]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_a_value_holds_itself_and_stays_within_what_grows_around_it(value, other) -> None:
    assert machine.is_within(value, value)
    assert machine.is_within({"a": value}, {"new": other, "a": value})
    assert machine.is_within([value], [other, value])
    if machine.is_within(value, other) and machine.is_within(other, value):
        assert value == other


@pytest.mark.parametrize(("old", "new"), [(1, 2), (1, 1.0), ([1, 2], [2, 1]), ({"a": 1}, {"b": 1}), ([1, 1], [1])])
def test_a_value_that_is_another_is_not_within(old, new) -> None:
    assert not machine.is_within(old, new)


@pytest.mark.parametrize(
    ("name", "old", "new", "grown"),
    [
        ("a.json", '{"bleu": 1.5}', '{"bleu": 1.5, "new": 2}', True),
        ("a.json", '{"bleu": 1.5}', '{"bleu": 1.6}', False),
        ("tables/a.csv", "run,bleu\nce,1\n", "run,new,bleu\naxe,0,3\nce,0,1\n", True),
        ("tables/a.csv", "run,bleu\nce,1\n", "run,bleu\nce,2\n", False),
        ("tables/a.md", "| run |\n| ce  |\n", "| run   |\n| ce    |\n| ctc-1 |\n", True),
        ("tables/a.md", "| run |\n| ce  |\n", "| run |\n| axe |\n", False),
        ("history.jsonl", "{}\n", "{}\n{}\n", False),
        ("test/ell5.txt", "a\n", "a\nb\n", False),
    ],
)
def test_results_grow_by_rows_columns_and_keys(tmp_path, name, old, new, grown) -> None:
    before, now = tmp_path / "study" / name, tmp_path / "present" / name
    for path, text in ((before, old), (now, new)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert machine.has_grown(before, now) == grown


def study_with(folder: Path, **files: str) -> Path:
    """A finished study, as far as Snakemake has noted what its jobs made."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        note = folder / ".snakemake/metadata" / urlsafe_b64encode(str(path.relative_to(folder)).encode()).decode()
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text("{}")
    return folder


def test_every_out_is_compared_but_for_what_a_clock_says(tmp_path) -> None:
    same = {"results__runs__ce__config_dot_yaml": "a: 1\n", "results__runs__ce__model_dot_safetensors": "weights"}
    recorded = study_with(
        tmp_path / "study",
        **same,
        results__summary_dot_json='{"a": 1}',
        data__x="x",
        data__y="y",
        results__speed__s="1",
    )
    lines = [f"{md5(recorded / path)}  {path}\n" for path in outs(recorded)]
    (tmp_path / "md5sums.txt").write_text("".join(lines))
    grown = '{"a": 1, "b": 2}'
    now = study_with(
        tmp_path / "now", **same, results__summary_dot_json=grown, data__x="X", data__z="z", results__speed__s="2"
    )
    assert machine.kinds_of_outs(tmp_path, now) == {
        "results/runs/ce/config.yaml": "same",
        "results/runs/ce/model.safetensors": "same",
        "results/summary.json": "grown",
        "data/x": "changed",
        "data/y": "gone",
        "data/z": "new",
    }


@pytest.mark.parametrize(
    ("again", "changed", "code"), [([], False, 0), (["train run=ce: Params have changed"], False, 1), ([], True, 1)]
)
def test_a_comparison_fails_if_a_result_is_another_or_would_be_made_again(
    tmp_path, monkeypatch, capsys, again, changed, code
) -> None:
    recorded = study_with(tmp_path / "study", data__x="x")
    (tmp_path / "md5sums.txt").write_text(f"{md5(recorded / 'data/x')}  data/x\n")
    (tmp_path / "about.json").write_text('{"commit": "0123456789abc", "processor": "some"}')
    monkeypatch.setattr(machine, "_machine", lambda: {"processor": "another"})
    monkeypatch.setattr(machine, "stale", lambda study: again)
    now = study_with(tmp_path / "now", data__x="X" if changed else "x")
    assert main(["--compare", "--folder", str(tmp_path), "--finished", str(now)]) == code
    printed = capsys.readouterr().out
    assert "on another machine" in printed and "those of 0123456789: 1 " in printed
    assert ("made again: train run=ce" in printed) == bool(again) and ("diff -r" in printed) == changed
