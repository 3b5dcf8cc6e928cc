"""Every setting of a decoding reaches every engine: `axenat translate` writes what the slow searches find."""

import pytest

from axenat.files import read_json, write_json
from axenat.systems.registry import SYSTEMS
from tests.support import decoding
from tests.support.decoding import BEAM_ENGINES, ENGINES, LINES, MASKED_ENGINES, POSITIONS, slowly, translated

SETTINGS = {
    "beam_size": 3, "length_penalties": [0.7, 1.0], "num_length_candidates": 4, "length_multipliers": [1.5, 1.0],
}  # fmt: skip
masked_engines = pytest.mark.parametrize(("objective", "engine"), MASKED_ENGINES)
beam_engines = pytest.mark.parametrize(("objective", "engine"), BEAM_ENGINES)
engines = pytest.mark.parametrize(("objective", "engine"), ENGINES)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Never tuned."""
    folder = tmp_path_factory.mktemp("runs")
    return {name: decoding.run_folder(folder / name, name, **SETTINGS) for name in tuple(SYSTEMS)}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    made = {name: decoding.run_folder(folder / name, name, **SETTINGS) for name in tuple(SYSTEMS)}
    for name, run in made.items():
        write_json(run / "tuned.json", {"value": 1.6 if name == "left_to_right" else 0.7})
    return made


def assert_same(found, expected) -> None:
    """The same candidates in the same order, none missing, with the same scores."""
    for line, some, others in zip(LINES, found, expected, strict=True):
        assert [text for text, _ in some] == [text for text, _ in others], line
        assert [score for _, score in some] == pytest.approx([score for _, score in others], rel=1e-4, abs=1e-4)


def winners(found) -> list[str]:
    return [best[0][0] for best in found]


@masked_engines
def test_as_many_passes_are_made_as_the_decoding_names(tuned, objective, engine) -> None:
    by_passes = {}
    for name, iterations in (("ell3", 1), ("ell3-t4", 4), ("ell3-t7", 7)):
        found = translated(tuned[objective], "--engine", engine, "--decode", name)
        assert_same(found, slowly(tuned[objective], objective, ell=3, multiplier=0.7, iterations=iterations))
        by_passes[name] = [[text for text, _ in best] for best in found]
    assert len({str(found) for found in by_passes.values()}) == 3


@masked_engines
def test_as_many_lengths_are_tried_as_the_decoding_names(tuned, objective, engine) -> None:
    numbers = set()
    for name, ell in (("ell1", 1), ("ell2", 2), ("ell6", 6)):
        found = translated(tuned[objective], "--engine", engine, "--decode", name)
        assert_same(found, slowly(tuned[objective], objective, ell=ell, multiplier=0.7))
        numbers.add(len(found[0]))
    assert len(numbers) == 3


@masked_engines
def test_candidates_are_ranked_by_the_runs_own_norm(tmp_path, objective, engine) -> None:
    by_norm = []
    for norm in ("positions", "tokens", "sum"):
        run = decoding.run_folder(tmp_path / norm, objective, **SETTINGS, rank_norm=norm, engine=engine)
        found = translated(run)
        assert_same(found, slowly(run, objective, ell=4, multiplier=1.5, norm=norm))
        by_norm.append(winners(translated(run, "--decode", "ell5")))
    # Without blanks, every position holds a token.
    assert len({str(one) for one in by_norm}) == (3 if objective == "axe" else 2)


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_three_norms_may_choose_three_candidates_of_one_line(tmp_path, engine) -> None:
    run = decoding.run_folder(tmp_path / "axe", "axe", length_multipliers=[1.0], engine=engine)
    chosen = []
    for norm in ("positions", "tokens", "sum"):
        decoding.set_decode(run, rank_norm=norm)
        chosen.append(winners(translated(run, "--decode", "ell4"))[0])
    assert len(set(chosen)) == 3


@beam_engines
def test_the_beam_is_as_wide_as_the_decoding_names(tuned, objective, engine) -> None:
    numbers = []
    for name, beam in (("beam1", 1), ("beam2", 2), ("beam4", 4)):
        found = translated(tuned[objective], "--engine", engine, "--decode", name)
        assert_same(found, slowly(tuned[objective], objective, beam=beam, penalty=1.6))
        numbers.append(len(found[0]))
    assert numbers == [1, 2, 4]


@engines
def test_without_a_tuned_value_the_first_of_the_runs_grid_serves(runs, objective, engine) -> None:
    found = translated(runs[objective], "--engine", engine)
    how = {"beam": 3, "penalty": 0.7} if objective == "left_to_right" else {"ell": 4, "multiplier": 1.5}
    assert_same(found, slowly(runs[objective], objective, **how))


@engines
def test_the_tuned_value_serves_every_engine(runs, tuned, tmp_path, objective, engine) -> None:
    record = tmp_path / "record.json"
    found = translated(tuned[objective], "--engine", engine, "--record", str(record))
    how = {"beam": 3, "penalty": 1.6} if objective == "left_to_right" else {"ell": 4, "multiplier": 0.7}
    assert_same(found, slowly(tuned[objective], objective, **how))
    assert found != translated(runs[objective], "--engine", engine)
    name = "beam3" if objective == "left_to_right" else "ell4"
    value = 1.6 if objective == "left_to_right" else 0.7
    assert read_json(record) == {"engine": engine, "precision": "float32", "decode": name, "value": value}


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_without_eos_one_position_is_enough(tmp_path, engine) -> None:
    """Lambda brings the shortest length down to one, and a run with <eos> needs two."""
    run = decoding.run_folder(tmp_path / "axe", "axe", length_multipliers=[0.5], engine=engine)
    lengths = slowly(run, "axe", ell=9, multiplier=0.5, least=1)
    assert lengths != slowly(run, "axe", ell=9, multiplier=0.5, least=2)
    for eos, least in (("keep", 2), ("drop", 1)):
        decoding.set_objective(run, eos=eos)
        assert_same(translated(run, "--decode", "ell9"), slowly(run, "axe", ell=9, multiplier=0.5, least=least))


@pytest.mark.parametrize(("objective", "engine"), [("left_to_right", "ctranslate2"), ("axe", "onnx")])
def test_the_precision_asked_for_is_that_of_the_engine(tuned, tmp_path, objective, engine) -> None:
    """Rounded weights change every score a little, and the record says which they were."""
    found = {}
    for precision in ("float32", "int8"):
        record = tmp_path / f"{precision}.json"
        flags = ("--engine", engine, "--precision", precision, "--record", str(record))
        found[precision] = translated(tuned[objective], *flags, number=1)
        assert read_json(record)["precision"] == precision
    exact = translated(tuned[objective], "--engine", "torch", number=1)
    assert_same(found["float32"], exact)
    scores = {name: [best[0][1] for best in some if best[0][0]] for name, some in found.items()}
    assert all(one != other for one, other in zip(*scores.values(), strict=True))


@engines
def test_a_line_is_read_as_far_as_the_model_has_positions(tuned, objective, engine) -> None:
    """One of them is for the end of the sentence; how many lines were cut is another test's."""
    read, beyond = ["man"] * (POSITIONS - 1), ["red", "car", "today"]
    lines = [" ".join(read + beyond), " ".join(read), " ".join(read[:-1]), "a"]
    found = translated(tuned[objective], "--engine", engine, lines=lines)
    how = {"beam": 3, "penalty": 1.6} if objective == "left_to_right" else {"ell": 4, "multiplier": 0.7}
    assert found == [translated(tuned[objective], "--engine", engine, lines=[line])[0] for line in lines]
    assert found[0] == found[1] != found[2]
    expected = slowly(tuned[objective], objective, lines=lines, **how)
    assert [[text for text, _ in best] for best in found] == [[text for text, _ in best] for best in expected]


@engines
def test_of_each_line_so_many_translations_as_asked_for_come_out_best_first(tuned, objective, engine) -> None:
    whole = translated(tuned[objective], "--engine", engine)
    for number in (1, 2):
        assert_same(translated(tuned[objective], "--engine", engine, number=number), [best[:number] for best in whole])
    for best in whole:
        scores = [score for _, score in best]
        assert scores == sorted(scores, reverse=True)
        assert len({text for text, _ in best}) == len(best)
