"""From the published archive to ids, with the real recipes, for all six directions of the paper and Multi30k."""

import functools
import http.server
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from axenat.data.corpus import ParallelCorpus
from axenat.data.download import fetch
from axenat.data.side import Side
from axenat.data.web import Patience
from axenat.files import UserError, count_lines, read_lines, read_yaml
from axenat.recipe import recipe_names
from axenat.study import parse_study
from tests.published import LINES, lines, publish

ROOT = Path(__file__).parents[2]
STUDIES = (
    "multi30k",
    *(
        f"wmt{year}-{pair}"
        for year, pairs in ((14, ("en-de", "de-en")), (16, ("en-ro", "ro-en")), (17, ("en-zh", "zh-en")))
        for pair in pairs
    ),
)


@pytest.fixture(scope="module")
def mirror(tmp_path_factory) -> Iterator[tuple[str, dict[str, Path]]]:
    """A web server with all archives, and the recipes that fit them."""
    folder = tmp_path_factory.mktemp("mirror")
    recipes = {name: publish(name, folder) for name in recipe_names()}
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", recipes
        server.shutdown()


@pytest.fixture(scope="module")
def shop(new_workshop, tmp_path_factory):
    return new_workshop(tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="module")
def prepared(shop, mirror):
    """All seven corpora in one workflow, as their studies have them but for the number of merges."""
    address, recipes = mirror
    study = {"study": "all", "corpora": {}, "runs": {}}
    for name in STUDIES:
        corpus = read_yaml(ROOT / f"config/{name}.yaml")["corpora"][name]
        corpus["recipe"] = str(recipes[corpus["recipe"]])
        corpus["subwords"]["merges"] = 100
        corpus["distil"] = None
        study["corpora"][name] = corpus
        study["runs"][name] = {"corpus": name, "objective": {"name": "left_to_right"}}
    (shop.folder / "all.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    targets = [f"results/corpora/{name}/raw/{split}.safetensors" for name in STUDIES for split in ("train", "valid")]
    targets += [f"results/corpora/{name}/clean/test.source" for name in STUDIES]
    targets += [f"data/{name}/origin.yaml" for name in STUDIES]
    done = shop.run(
        "env", f"AXENAT_MIRROR={address}", "snakemake", "--cores", "2", *targets, "--configfile", "all.yaml"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return shop.folder, parse_study(study)


each_study = pytest.mark.parametrize("name", STUDIES)


@pytest.mark.slow
@each_study
def test_both_sides_have_as_many_lines_after_every_stage(prepared, name: str) -> None:
    folder, study = prepared
    corpus = study.corpora[name]
    selection = study.selections[name]
    parts = {"train": list(selection.train.values()), "valid": [selection.valid], "test": [selection.test]}
    for split in parts:
        raw = [
            folder / f"data/{name}/{split}.{language}" for language in (corpus.source_language, corpus.target_language)
        ]
        published = sum(part.pairs or 0 for part in parts[split])
        assert [count_lines(path) for path in raw] == [published, published]
        counts = json.loads((folder / f"results/corpora/{name}/clean/{split}.counts.json").read_text())
        assert counts["pairs"] == published
        assert counts["kept"] + sum(counts["dropped"].values()) == published
        clean = [folder / f"results/corpora/{name}/clean/{split}.{side}" for side in ("source", "target")]
        assert [count_lines(path) for path in clean] == [counts["kept"]] * 2
        if split != "test":
            assert len(ParallelCorpus(folder / f"results/corpora/{name}/raw/{split}.safetensors")) == counts["kept"]


@pytest.mark.slow
@each_study
def test_ids_come_back_as_the_words_they_were_made_of(prepared, name: str) -> None:
    folder, _ = prepared
    place = folder / f"results/corpora/{name}"
    ids = ParallelCorpus(place / "raw/train.safetensors")
    for kind, of in (("source", ids.source), ("target", ids.target)):
        side = Side.load(place / "subwords", kind)
        words = read_lines(place / f"clean/train.{kind}")
        for number in range(0, len(words), 7):
            tokens = side.vocab.decode(of(number)[:-1].tolist())
            assert side.words(" ".join(tokens)) == words[number]


@pytest.mark.slow
@each_study
def test_the_first_part_comes_first_and_valid_is_the_set_that_the_study_names(prepared, name: str) -> None:
    folder, study = prepared
    language = study.corpora[name].source_language
    assert read_lines(folder / f"data/{name}/train.{language}")[:LINES] == lines(language, 0)
    counts = json.loads((folder / f"data/{name}/train.json").read_text())
    assert {part: count["pairs"] for part, count in counts["parts"].items()} == {
        part: of.pairs for part, of in study.selections[name].train.items()
    }
    origin = read_yaml(folder / f"data/{name}/origin.yaml")
    assert origin["licence"] and origin["citation"]


@pytest.mark.slow
def test_the_archives_lie_below_data_by_host_and_path(prepared, mirror) -> None:
    folder, study = prepared
    for selection in study.selections.values():
        for archive in selection.archives.values():
            assert (folder / "data/archives" / archive.place).stat().st_size == archive.bytes


@pytest.mark.slow
def test_segmented_chinese_is_joined_before_it_is_segmented_anew(prepared) -> None:
    folder, study = prepared
    chinese = read_lines(folder / "data/wmt17-en-zh/train.zh")
    archive = study.selections["wmt17-en-zh"].archives["datum2017"]
    with zipfile.ZipFile(folder / "data/archives" / archive.place) as zipped:
        segmented = zipped.read("datum2017/Book2_cn.txt").decode().splitlines()
    assert all(" " in line for line in segmented)
    assert {line.replace(" ", "") for line in segmented} <= set(chinese)
    assert not [line for line in chinese if " " in line]


@pytest.mark.slow
def test_romanian_letters_are_normalised_in_words_and_stay_as_published_in_the_raw_text(prepared) -> None:
    folder, _ = prepared
    raw = "\n".join(read_lines(folder / "data/wmt16-en-ro/train.ro"))
    words = "\n".join(read_lines(folder / "results/corpora/wmt16-en-ro/clean/train.target"))
    assert "ţ" in raw and "ţ" not in words and "ț" in words


NOWHERE = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}  # nobody listens there


@pytest.mark.parametrize("name", STUDIES)
def test_without_a_network_fetching_ends_in_a_sentence_with_the_address_and_the_mirror_setting(
    tmp_path, monkeypatch, name: str
) -> None:
    for key, value in NOWHERE.items():
        monkeypatch.setenv(key, value)
    archive = next(iter(parse_study(read_yaml(ROOT / f"config/{name}.yaml")).selections[name].archives.values()))
    with pytest.raises(UserError) as refused:
        fetch(archive, tmp_path, patience=Patience(attempts=1))
    sentence = str(refused.value)
    assert all(address in sentence for address in archive.addresses)
    assert f"set AXENAT_MIRROR to a folder laid out by host and path that holds {archive.place}" in sentence
    assert "\n" not in sentence
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and not path.name.endswith(".lock")]


@pytest.mark.slow
def test_a_workflow_without_a_network_shows_that_sentence(workshop) -> None:
    place = "statmt.org/wmt13/test.tgz"
    variables = [f"{key}={value}" for key, value in NOWHERE.items()]
    study = ("--configfile", "config/wmt14-en-de.yaml")
    done = workshop.run("env", *variables, "snakemake", "--cores", "1", f"data/archives/{place}", *study)
    assert done.returncode != 0
    shown = done.stdout + done.stderr
    assert [line for line in shown.splitlines() if "AXENAT_MIRROR" in line and f"https://{place}" in line]
    assert "Traceback" not in shown


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_plans_everything_also_with_the_target_behind_its_file(workshop, name: str) -> None:
    plan = workshop.plan("--configfile", f"config/{name}.yaml", "all")
    assert {"fetch", "clean", "learn_subwords", "encode", "train", "distil", "score", "report"} <= plan.keys()
    assert len(plan["fetch"]) == len(parse_study(read_yaml(ROOT / f"config/{name}.yaml")).selections[name].archives)


@pytest.mark.slow
def test_a_recipe_at_another_place_neither_fetches_an_archive_again_nor_anything_else(prepared, shop, mirror) -> None:
    folder, _ = prepared
    values = read_yaml(folder / "all.yaml")
    moved = folder / "moved.yaml"
    moved.write_bytes(mirror[1]["wmt16-en-ro"].read_bytes())
    for name in ("wmt16-en-ro", "wmt16-ro-en"):
        values["corpora"][name]["recipe"] = str(moved)
    (folder / "moved-study.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    targets = [f"results/corpora/{name}/raw/train.safetensors" for name in STUDIES]
    assert shop.plan(*targets, "--configfile", "moved-study.yaml") == {}
    values["corpora"]["wmt16-en-ro"]["test_set"] = "newsdev2016"
    (folder / "moved-study.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    assert shop.plan(*targets, "--configfile", "moved-study.yaml") == {}
