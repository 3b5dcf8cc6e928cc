"""The vocabulary gives every subword one id and guards the six special ones."""

import pytest

from axenat.data.vocab import BLANK, BOS, EOS, MASK, PAD, SPECIALS, UNK, Vocab
from axenat.files import UserError, sha256_of

LINES = ["das kleine Haus", "das Haus am Meer", "ein Haus"]


def test_the_special_ids_are_fixed_and_come_first() -> None:
    assert (PAD, BOS, EOS, UNK, MASK, BLANK) == (0, 1, 2, 3, 4, 5)
    assert Vocab.build(LINES).tokens[:6] == SPECIALS


def test_frequent_subwords_come_first_and_ties_follow_the_alphabet() -> None:
    assert Vocab.build(LINES).tokens[6:] == ("Haus", "das", "Meer", "am", "ein", "kleine")


def test_decode_undoes_encode_for_known_subwords() -> None:
    vocab = Vocab.build(LINES)
    for line in LINES:
        assert " ".join(vocab.decode(vocab.encode(line))) == line
        assert vocab.encode(line) == vocab.encode(line.split())


def test_an_unknown_subword_is_unk_and_no_eos_is_added() -> None:
    vocab = Vocab.build(LINES)
    assert vocab.encode("das Boot") == [vocab.tokens.index("das"), UNK]
    assert vocab.encode("") == []


def test_text_that_spells_a_special_token_does_not_become_one() -> None:
    vocab = Vocab.build(["<mask> <pad> Haus"])
    assert vocab.tokens == (*SPECIALS, "Haus")
    assert vocab.encode("<mask> Haus <eos>") == [UNK, 6, UNK]


def test_rare_subwords_and_those_beyond_the_size_are_left_out() -> None:
    assert Vocab.build(LINES, min_count=2).tokens[6:] == ("Haus", "das")
    assert len(Vocab.build(LINES, max_size=7)) == 7
    with pytest.raises(UserError, match="no room"):
        Vocab.build(LINES, max_size=6)


def test_load_undoes_save_and_the_sum_is_that_of_the_file(tmp_path) -> None:
    vocab = Vocab.build(LINES)
    vocab.save(tmp_path / "vocab")
    assert Vocab.load(tmp_path / "vocab") == vocab
    assert vocab.sha256 == sha256_of(tmp_path / "vocab")


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (("das", "Haus"), "must start with <pad>"),
        ((*SPECIALS[1:], "<pad>", "das"), "must start with <pad>"),
        ((*SPECIALS, "das", "Haus", "das"), "'das' is there again"),
        ((*SPECIALS, "das", ""), "empty token"),
    ],
)
def test_a_file_that_is_no_vocabulary_is_refused_by_name(tmp_path, tokens, sentence) -> None:
    path = tmp_path / "vocab"
    path.write_text("".join(f"{token}\n" for token in tokens))
    with pytest.raises(UserError, match=sentence) as caught:
        Vocab.load(path)
    assert str(caught.value).startswith(str(path))


def test_a_missing_vocabulary_is_one_sentence(tmp_path) -> None:
    with pytest.raises(UserError, match="no such file"):
        Vocab.load(tmp_path / "vocab")
