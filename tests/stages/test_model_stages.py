"""From raw text to translations: each stage on a corpus and models that fit in seconds."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from axenat.files import UserError, alone, read_json, read_lines, sha256_of, write_json, write_lines, write_yaml
from axenat.layout import SUBWORD_FILES
from axenat.stages import analyse, average, download, train, translate, tune
from axenat.train import slurm_job
from axenat.train.start import start_from
from tests import tiny
from tests.support.house import (
    ANALYSIS,
    DOWNLOAD,
    GRAMMAR,
    KEEP_BEST,
    OBJECTIVES,
    download_all,
    run,
)

each_run = pytest.mark.parametrize("name", OBJECTIVES)


def test_the_grammar_writes_every_file_and_the_same_bytes_for_the_same_seed(house, tmp_path) -> None:
    names = {f"{split}.{end}" for split in ("train", "valid", "test") for end in ("en", "de")}
    names |= {f"{split}.{end}" for split in ("valid", "test") for end in ("ref1.de", "ref2.de", "accept")}
    assert {path.name for path in house.data.iterdir()} == names | {"train.json", "valid.json", "test.json"}
    assert all(len(read_lines(house.data / name)) == GRAMMAR[name.split(".")[0]] for name in names)
    download_all(house.path, DOWNLOAD, tmp_path)
    assert all((tmp_path / name).read_bytes() == (house.data / name).read_bytes() for name in names)


def test_a_folder_of_ones_own_is_copied(house, tmp_path) -> None:
    download_all(tmp_path, {**DOWNLOAD, "grammar": None, "folder": str(house.data)}, tmp_path / "copy")
    for path in house.data.iterdir():
        assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes()
    assert read_json(tmp_path / "copy" / "valid.json")["parts"] == {"valid": {"pairs": GRAMMAR["valid"]}}


@pytest.mark.parametrize(
    ("name", "lines", "sentence"),
    [
        ("valid.de", ["eins"], r"valid\.de has 1 lines but valid\.en has 11"),
        ("test.ref2.de", ["eins"], r"test\.ref2\.de has 1 lines but test\.en has 7"),
        ("test.accept", ["eins"], r"test\.accept has 1 lines but test\.en has 7"),
        ("train.en", [], r"train\.en is empty"),
        ("train.de", None, r"train\.de: no such file"),
    ],
)
def test_a_folder_that_does_not_fit_together_is_refused_before_anything_is_written(
    house, tmp_path, name, lines, sentence
) -> None:
    own = tmp_path / "own"
    for path in house.data.iterdir():
        write_lines(own / path.name, read_lines(path))
    if lines is None:
        (own / name).unlink()
    else:
        write_lines(own / name, lines)
    split = name.partition(".")[0]
    write_yaml(tmp_path / "download.yaml", {**DOWNLOAD, "split": split, "grammar": None, "folder": str(own)})
    with pytest.raises(UserError, match=sentence):
        run(download, config=tmp_path / "download.yaml", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"split": "train"}, "download.yaml.source_language is missing"),
        ({**DOWNLOAD, "split": "dev"}, "split must be one of train, valid, test"),
        ({**DOWNLOAD, "split": "train", "grammar": None}, "exactly one of grammar, folder and published"),
        ({**DOWNLOAD, "split": "train", "grammar": {"sed": 1}}, "download.yaml.grammar.sed is not a known key"),
    ],
)
def test_download_refuses_a_bad_config_in_words(tmp_path, config, sentence) -> None:
    write_yaml(tmp_path / "download.yaml", config)
    with pytest.raises(UserError, match=sentence):
        run(download, config=tmp_path / "download.yaml", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@each_run
def test_training_leaves_its_history_its_best_checkpoints_and_where_it_came_from(house, name) -> None:
    folder = house.runs[name]
    history = [json.loads(line) for line in read_lines(folder / "history.jsonl")]
    losses = {line["step"]: line["loss"] for line in history if line["kind"] == "valid"}
    assert list(losses) == [10, 20, 30, 40]
    best = read_json(folder / "best.json")
    assert best["run"] == name
    lowest = sorted(losses, key=lambda step: losses[step])[:KEEP_BEST]
    assert [(entry["step"], entry["loss"]) for entry in best["checkpoints"]] == [
        (step, losses[step]) for step in lowest
    ]
    files = {entry["file"]: entry["sha256"] for entry in best["checkpoints"]}
    kept = {path.name: sha256_of(path) for path in (folder / "checkpoints").glob("step-*.safetensors")}
    assert kept == files and len(kept) == KEEP_BEST
    csv = [f"{step},{loss}" for step, loss in losses.items()]
    assert read_lines(folder / "valid.csv") == ["step,loss", *csv]
    made = read_json(folder / "provenance.json")
    assert made["packages"]["torch"] == torch.__version__
    assert made["train_ids_sha256"] == sha256_of(house.ids("train")) and made["device"] == "cpu"
    assert made["fingerprint"] == best["fingerprint"]
    assert torch.backends.cpu.get_cpu_capability() in made["processor"]


@each_run
def test_the_model_is_the_mean_of_the_best_checkpoints(house, name) -> None:
    folder = house.runs[name]
    entries = read_json(folder / "best.json")["checkpoints"]
    parts = [load_file(folder / "checkpoints" / entry["file"]) for entry in entries]
    for key, mean in load_file(folder / "model.safetensors").items():
        expected = np.mean([part[key].astype(np.float64) for part in parts], axis=0)
        np.testing.assert_allclose(mean, expected, rtol=1e-6, atol=1e-8)
    for file in ("codes.source", "vocab.target"):
        assert (folder / file).read_bytes() == (house.subwords / file).read_bytes()


def test_the_same_checkpoints_and_texts_give_the_same_bytes(house, tmp_path) -> None:
    """Also in another process, where the library shuffles metadata in another way."""
    folder = house.runs["axe"]
    flags = ["--best", folder / "best.json", "--subwords", house.subwords, "--out", tmp_path]
    subprocess.run([sys.executable, "-m", "axenat.cli", "average", *map(str, flags)], check=True)
    assert (tmp_path / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize("name", SUBWORD_FILES)
def test_a_model_refuses_codes_or_a_vocabulary_that_lost_lines(house, tmp_path, name) -> None:
    folder = tmp_path / "axe"
    shutil.copytree(house.runs["axe"], folder)
    lines = read_lines(folder / name)
    write_lines(folder / name, lines[: len(lines) // 2] or ["another 1"])  # some are empty
    with pytest.raises(UserError, match=rf"{name} is not the file that model.safetensors was made with"):
        run(translate, model=folder)


def test_a_training_starts_from_the_weights_of_the_run_that_it_names(house, tmp_path) -> None:
    """A step at the least rate, 1e-7, leaves them where they were but for its last digits; the length head is new."""
    teacher = house.runs["teacher"] / "model.safetensors"
    house.write_config(tmp_path, "axe", start="teacher", steps=1, peak_lr=1e-12, validate_every=1)
    house.train(tmp_path, start_from=teacher)
    started = load_file(next((tmp_path / "checkpoints").glob("step-*.safetensors")))
    for name, weight in load_file(teacher).items():
        np.testing.assert_allclose(started.pop(name), weight, rtol=0, atol=2e-7)
    assert list(started) == ["lengths.weight"]
    with pytest.raises(UserError, match="--start-from must give one model, that of teacher, as start_from says; got 0"):
        house.train(tmp_path)
    house.write_config(tmp_path, "axe", steps=1)
    with pytest.raises(UserError, match="--start-from must give nothing, for start_from is not set; got 1"):
        house.train(tmp_path, start_from=teacher)


def test_weights_of_another_vocabulary_are_no_start(house, tmp_path) -> None:
    subwords = tmp_path / "subwords"
    shutil.copytree(house.subwords, subwords)
    write_lines(subwords / "vocab.target", read_lines(subwords / "vocab.target")[:-1])
    model = torch.nn.Linear(2, 2)
    with pytest.raises(UserError, match=r"vocab\.target is not the file that model\.safetensors was made with"):
        start_from(model, house.runs["teacher"] / "model.safetensors", subwords)
    with pytest.raises(UserError, match=r"does not fit the model of config\.yaml: bias is on one side only"):
        start_from(model, house.runs["teacher"] / "model.safetensors", house.subwords)


def test_two_trainings_do_not_share_a_folder(house, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(slurm_job, "LOCK_SECONDS", 0.0)
    house.write_config(tmp_path, "axe", steps=4)
    with alone(tmp_path / ".training"), pytest.raises(UserError, match=r"\.training is held by another process"):
        house.train(tmp_path)
    assert not (tmp_path / "checkpoints").exists()


def test_a_changed_or_missing_checkpoint_is_not_averaged(house, tmp_path) -> None:
    folder = tmp_path / "run"
    house.write_config(folder, "axe", steps=4)
    house.train(folder)
    first = folder / "checkpoints" / read_json(folder / "best.json")["checkpoints"][0]["file"]
    for damage in (lambda: first.write_bytes(b"other"), first.unlink):
        damage()
        with pytest.raises(UserError, match=r"is missing or changed since .*best\.json was written"):
            run(average, best=folder / "best.json", subwords=house.subwords, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"value": 1.0}, "checkpoints is missing"),
        ({"checkpoints": []}, "checkpoints must be a list of at least one"),
        ({"checkpoints": {"a": 1}}, "checkpoints must be a list of at least one"),
        ({"checkpoints": [{"file": "a"}]}, "checkpoints: sha256 is missing; expected the keys file, sha256, step"),
    ],
)
def test_average_refuses_a_file_that_names_no_checkpoints(tmp_path, content, sentence) -> None:
    write_json(tmp_path / "best.json", content)
    with pytest.raises(UserError, match=sentence):
        run(average, best=tmp_path / "best.json", subwords=tmp_path, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_training_refuses_ids_of_another_vocabulary(house, tmp_path) -> None:
    house.write_config(tmp_path, "axe")
    ids = {split: house.corpus / f"{split}.safetensors" for split in ("train", "valid")}
    with pytest.raises(UserError, match="was encoded with another source vocabulary"):
        run(train, config=tmp_path / "config.yaml", **ids, subwords=tiny.subwords_folder(tmp_path), out=tmp_path)
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize("split", ["train", "valid"])
def test_training_refuses_damaged_ids_before_it_begins(house, tmp_path, split) -> None:
    house.write_config(tmp_path, "axe")
    ids = {name: house.corpus / f"{name}.safetensors" for name in ("train", "valid")}
    whole = bytearray(ids[split].read_bytes())
    whole[-8] ^= 1
    ids[split] = tmp_path / "damaged.safetensors"
    ids[split].write_bytes(whole)
    with pytest.raises(UserError, match=r"damaged\.safetensors: damaged since it was written \(chunk 1 of 1"):
        run(train, config=tmp_path / "config.yaml", **ids, subwords=house.subwords, out=tmp_path)
    assert not (tmp_path / "checkpoints").exists()


@each_run
def test_translate_writes_text_words_and_subwords_line_by_line(house, tmp_path, name) -> None:
    source = [*read_lines(house.data / "test.en"), "", "Something entirely unseen!"]
    write_lines(tmp_path / "in.txt", source)
    out = {"output": tmp_path / "a.txt", "tokenised": tmp_path / "a.tok.txt", "subwords": tmp_path / "a.bpe.txt"}
    run(translate, model=house.runs[name], input=tmp_path / "in.txt", **out, threads=1)
    text, words, subwords = (read_lines(path) for path in out.values())
    assert len(text) == len(words) == len(subwords) == len(source)
    empty = GRAMMAR["test"]
    assert text[empty] == words[empty] == subwords[empty] == ""
    assert words == [line.replace("@@ ", "").removesuffix("@@") for line in subwords]


@pytest.mark.parametrize(
    ("name", "flags", "decode"),
    [("teacher", {"decode": "beam1"}, "beam1"), ("axe", {"decode": "ell1"}, "ell1"), ("ce", {}, "ell2")],
)
def test_translate_records_what_decoded(house, tmp_path, name, flags, decode) -> None:
    out = {"output": tmp_path / "out.txt", "record": tmp_path / "engine.json"}
    run(translate, model=house.runs[name], input=house.data / "test.en", engine="torch", **out, **flags)
    value = read_json(house.runs[name] / "tuned.json")["value"]  # of the run's own decoding, it serves for all
    expected = {"engine": "torch", "precision": "float32", "decode": decode, "value": value}
    assert read_json(out["record"]) == expected


def test_translate_says_once_how_many_lines_were_cut(house, tmp_path, caplog) -> None:
    write_lines(tmp_path / "in.txt", ["man " * 200, "the old man", "man " * 300])
    run(translate, model=house.runs["axe"], input=tmp_path / "in.txt", output=tmp_path / "out.txt")
    (said,) = caplog.messages
    assert said == "2 of 3 lines were cut to the model's 127 subwords"


def analysis_of(house, name: str, tmp_path, **changes) -> dict:
    hypothesis = tmp_path / "hypothesis.txt"
    run(translate, model=house.runs[name], input=house.data / "valid.en", output=hypothesis)
    flags = {
        "config": house.path / "analysis.yaml",
        "model": house.runs[name],
        "source": house.data / "valid.en",
        "references": house.references("valid"),
        "hypothesis": hypothesis,
        "split": "valid",
        "out": tmp_path / "analysis.json",
    }
    run(analyse, **{**flags, **changes})
    return read_json(tmp_path / "analysis.json")


@each_run
def test_analyse_tells_what_section_5_asks(house, tmp_path, name) -> None:
    found = analysis_of(house, name, tmp_path)
    assert (found["run"], found["split"]) == (name, "valid")
    assert [bucket["low"] for bucket in found["buckets"]] == ANALYSIS["length_bounds"]
    assert sum(bucket["num_sentences"] for bucket in found["buckets"]) == GRAMMAR["valid"]
    assert (found["confidence"] is None) == (name == "teacher")
    assert bool(found["alignments"]) == (name == "axe")
    if name == "axe":
        tuned = read_json(house.runs["axe"] / "tuned.json")
        assert found["skip_target_rate"] == tuned["skip_target_rate"]
        for alignment in found["alignments"]:
            assert alignment["targets"][-1] == "<eos>"
            paid = sum(alignment["target_costs"]) + sum(
                p["blank_cost"] for p in alignment["predictions"] if p["skipped"]
            )
            assert paid == pytest.approx(alignment["total"], rel=1e-4)


@pytest.mark.parametrize("side", ["source", "hypothesis"])
def test_analyse_and_tune_refuse_texts_that_do_not_pair_up(house, tmp_path, side) -> None:
    write_lines(tmp_path / "short.txt", ["one"])
    with pytest.raises(UserError, match=r"short\.txt has 1 lines but .*valid\.de has 11"):
        analysis_of(house, "axe", tmp_path, **{side: tmp_path / "short.txt"})
    assert not (tmp_path / "analysis.json").exists()
    with pytest.raises(UserError, match=r"short\.txt has 1 lines but .*valid\.de has 11"):
        run(tune, model=house.runs["ce"], source=tmp_path / "short.txt", references=house.references("valid"),
            out=tmp_path / "tuned.json")  # fmt: skip


def test_a_device_that_is_none_is_one_sentence(house) -> None:
    with pytest.raises(UserError, match="--device tpu9x: not a device; use auto, cpu, cuda or cuda:0"):
        run(translate, model=house.runs["ce"], device="tpu9x")
