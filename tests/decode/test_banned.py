"""What may never come out does not, whatever a model thinks of it, and all else may."""

import pytest
import torch

from axenat.data.vocab import BLANK, BOS, EOS, UNK
from axenat.decode.translator import Translator
from tests.support import decoding
from tests.support.decoding import BANNED, ENGINES, LINES, slowly

CPU = torch.device("cpu")
engines = pytest.mark.parametrize(("objective", "engine"), ENGINES)


def run_that_favours(folder, objective: str, *tokens: int):
    run = decoding.run_folder(folder, objective)
    return decoding.favour(run, dict.fromkeys(tokens, 40.0))


def decodings(objective: str) -> tuple[str, ...]:
    return ("beam1", "beam4") if objective == "left_to_right" else ("ell1", "ell4", "ell4-t3")


@torch.inference_mode()
def wanted(run: Translator) -> set[int]:
    """The likeliest token at each of a few positions, if nothing were banned."""
    source, canvas = torch.tensor([run.encode(LINES[0])]), torch.tensor([[BOS, 6, 7, 8]])
    encoded = run.model.encode(source, torch.tensor([source.shape[1]]))
    states = run.model.decode(canvas, torch.tensor([canvas.shape[1]]), encoded, run.objective.causal)
    return set((states[0] @ run.model.output_matrix.T).argmax(-1).tolist())


@engines
def test_a_banned_token_never_comes_out_though_all_of_them_are_the_likeliest(tmp_path, objective, engine) -> None:
    folder = run_that_favours(tmp_path / "run", objective, *BANNED[objective])
    for name in decodings(objective):
        run = Translator(folder, CPU, name, engine=engine)
        assert wanted(run) <= set(BANNED[objective])
        for best in run.best_translations(LINES, 4):
            for one in best:
                assert not set(one.ids) & set(BANNED[objective])
                assert one.score > -20  # none of the probability is lost to what is banned


@engines
def test_scores_are_as_if_what_is_banned_did_not_exist(tmp_path, objective, engine) -> None:
    folder = run_that_favours(tmp_path / "run", objective, *BANNED[objective])
    how = {"beam": 4, "penalty": 1.0} if objective == "left_to_right" else {"ell": 4, "iterations": 3}
    name = "beam4" if objective == "left_to_right" else "ell4-t3"
    found = decoding.translated(folder, "--engine", engine, "--decode", name)
    for some, others in zip(found, slowly(folder, objective, **how), strict=True):
        assert [text for text, _ in some] == [text for text, _ in others]
        assert [score for _, score in some] == pytest.approx([score for _, score in others], rel=1e-3, abs=1e-3)


@engines
@pytest.mark.parametrize("token", [UNK, EOS, BLANK, 9])
def test_nothing_else_is_banned(tmp_path, objective, engine, token) -> None:
    """Blanks come out of AXE's models, and of no others. An unknown word is a word that all of them may say."""
    folder = run_that_favours(tmp_path / "run", objective, token)
    for name in decodings(objective):
        found = Translator(folder, CPU, name, engine=engine).best_translations(LINES, 1)
        for line, (best,) in zip(LINES, found, strict=True):
            if line:
                assert (token in best.ids) == (token not in BANNED[objective])
