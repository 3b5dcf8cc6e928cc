"""How sources become batches: within the budget of tokens, without any effect on what comes out."""

import pytest
import torch

from axenat.data.vocab import EOS
from axenat.decode.ctranslate2_beam import CTranslate2Beam
from axenat.decode.onnx_passes import OnnxPasses
from axenat.decode.translator import Translator
from axenat.model.transformer import Transformer
from tests.support import decoding
from tests.support.decoding import ENGINES, LINES

CPU = torch.device("cpu")
BEAM, ELL = 3, 4
SOME = [line for line in LINES if line] * 4
engines = pytest.mark.parametrize(("objective", "engine"), ENGINES)


class Recorded:
    """CTranslate2's translator, and the shapes of what it is given."""

    def __init__(self, engine, shapes) -> None:
        self.engine, self.shapes = engine, shapes

    def translate_batch(self, sources, **how):
        self.shapes.append((len(sources), max(map(len, sources))))
        return self.engine.translate_batch(sources, **how)


@pytest.fixture
def shapes(monkeypatch) -> list[tuple[int, int]]:
    """Sentences and tokens, padding included, of each batch that any engine reads."""
    seen: list[tuple[int, int]] = []
    encode, read, decode = Transformer.encode, OnnxPasses.read, CTranslate2Beam.decode
    monkeypatch.setattr(Transformer, "encode", lambda self, *given: seen.append(given[0].shape) or encode(self, *given))
    monkeypatch.setattr(OnnxPasses, "read", lambda self, *given: seen.append(given[0].shape) or read(self, *given))

    def recorded(self, *given):
        self.engine = Recorded(self.engine, seen)
        return decode(self, *given)

    monkeypatch.setattr(CTranslate2Beam, "decode", recorded)
    return seen


def run(tmp_path, objective: str, engine: str, tokens: int) -> Translator:
    sizes = {"beam_size": BEAM, "num_length_candidates": ELL, "tokens_per_batch": tokens}
    return Translator(decoding.run_folder(tmp_path / "run", objective, **sizes), CPU, engine=engine)


def ids(found) -> list[list[tuple[int, ...]]]:
    return [[one.ids for one in best] for best in found]


@engines
@pytest.mark.parametrize("tokens", [1, 90, 200])
def test_a_batch_holds_at_most_so_many_tokens_of_all_hypotheses_together(
    tmp_path, objective, engine, tokens, shapes
) -> None:
    """A sentence that has more is a batch by itself, and as many as fit are read together."""
    translator = run(tmp_path, objective, engine, tokens)
    found = translator.best_translations(SOME, 2)
    each = BEAM if objective == "left_to_right" else ELL
    assert sum(sentences for sentences, _ in shapes) == len(SOME)
    assert all(sentences == 1 or sentences * width * each <= tokens for sentences, width in shapes)
    assert (max(sentences for sentences, _ in shapes) > 1) == (tokens > 1)
    assert ids(found) == ids(run(tmp_path, objective, engine, 100_000).best_translations(SOME, 2))


@engines
def test_a_batch_of_the_longest_and_of_one_word_equals_its_sentences_in_their_order(
    tmp_path, objective, engine
) -> None:
    positions = decoding.POSITIONS
    sources = [[9] * (positions - 1) + [EOS], [7, EOS], [7, 8, EOS], [8, EOS], [10] * (positions - 1) + [EOS]]
    decoder = run(tmp_path, objective, engine, 4096).engine
    together = dict(decoder.decode(sources, 1.0))
    assert sorted(together) == list(range(len(sources)))
    for row, source in enumerate(sources):
        ((_, alone),) = decoder.decode([source], 1.0)
        assert [one.ids for one in together[row]] == [one.ids for one in alone]
        assert [one.score for one in together[row]] == pytest.approx([one.score for one in alone], rel=1e-4)
    assert len({str(best[0].ids) for best in together.values()}) > 1


@engines
def test_lines_come_out_in_their_order_with_blank_ones_between_them(tmp_path, objective, engine) -> None:
    lines = ["", *LINES[::-1], "", "", *LINES, "   "]
    translator = run(tmp_path, objective, engine, 120)
    advanced = []
    found = translator.best_translations(lines, 1, advance=lambda: advanced.append(1))
    assert ids(found) == [ids(translator.best_translations([line], 1))[0] for line in lines]
    assert [best[0].ids == () for best in found] == [not line.strip() for line in lines]
    assert len(advanced) == len(lines)
