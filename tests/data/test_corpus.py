"""The id file gives back what was stored, to us and to safetensors, or is refused."""

import hashlib
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from axenat.data import corpus as corpora
from axenat.data import corpus_writer
from axenat.data.corpus import SUMS, ParallelCorpus, vocab_metadata
from axenat.data.corpus_writer import write_corpus
from axenat.data.vocab import EOS, Vocab
from axenat.files import UserError

VOCAB = Vocab.build(["ein Haus am Meer"])
OTHER = Vocab.build(["ein Haus am See"])
METADATA = vocab_metadata(VOCAB, VOCAB)
SOURCES = [[6, 7], [], [8, 9, 6]]
TARGETS = [[9], [6, 7, 8], [7, 8]]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "train.safetensors"
    write_corpus(path, SOURCES, TARGETS, metadata=METADATA)
    return path


sentences = st.lists(st.integers(6, 70_000), max_size=5)


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6))
def test_every_sentence_comes_back_with_an_eos(tmp_path_factory, pairs) -> None:
    path = tmp_path_factory.mktemp("corpus") / "train.safetensors"
    sides = ([source for source, _ in pairs], [target for _, target in pairs])
    write_corpus(path, *sides, metadata=METADATA, sizes=(70_001, 70_001))
    corpus = ParallelCorpus(path)
    corpus.verify()
    assert len(corpus) == len(pairs)
    for i, (source, target) in enumerate(pairs):
        assert corpus.source(i).tolist() == [*source, EOS]
        assert corpus.target(i).tolist() == [*target, EOS]
        assert (corpus.source_lengths[i], corpus.target_lengths[i]) == (len(source) + 1, len(target) + 1)


def test_lengths_are_asked_for_as_of_an_array(path, monkeypatch) -> None:
    corpus = ParallelCorpus(path)
    whole = np.array([len(target) + 1 for target in TARGETS])
    for which in (1, -1, slice(None), slice(1, 3), np.array([2, 0, 2]), whole > 2):
        np.testing.assert_array_equal(corpus.target_lengths[which], whole[which])
    for chunk in (1, 2, 99):
        monkeypatch.setattr(corpora, "CHUNK", chunk)
        assert corpus.target_lengths.max() == whole.max()
        assert np.concatenate(list(corpus.target_lengths.chunks())).tolist() == whole.tolist()


def test_an_empty_sentence_is_found_in_whichever_chunk(path, monkeypatch) -> None:
    offsets = np.array([0, 3, 4, 8], dtype=np.int64)
    whole = path.read_bytes()
    for chunk in (1, 2, 99):
        monkeypatch.setattr(corpora, "CHUNK", chunk)
        for i in (1, 2):
            moved = offsets.copy()
            moved[i] = moved[i + 1]
            path.write_bytes(whole.replace(offsets.tobytes(), moved.tobytes()))
            with pytest.raises(UserError, match="offsets do not fit"):
                ParallelCorpus(path)


SCAN = """
import sys
from pathlib import Path
import numpy as np
from axenat.data.corpus import ParallelCorpus

def anonymous() -> int:
    return int(Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0])

ParallelCorpus(sys.argv[1]).source_lengths.max()  # what the first use loads is not the corpus's
before = anonymous()
corpus = ParallelCorpus(sys.argv[2])
assert corpus.source_lengths.max() + corpus.target_lengths.max() == 2
print(anonymous() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_opening_takes_no_memory_however_many_sentences(path, tmp_path) -> None:
    big = tmp_path / "big"
    write_corpus(big, ([] for _ in range(1_000_000)), ([] for _ in range(1_000_000)), metadata={})
    done = subprocess.run([sys.executable, "-c", SCAN, path, big], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 3_000  # kB; lengths of both sides alone would be 8,000


@pytest.mark.parametrize(("size", "dtype"), [(65_536, np.uint16), (65_537, np.int32)])
def test_ids_take_two_bytes_where_all_of_a_vocabulary_fit(tmp_path, size, dtype) -> None:
    write_corpus(tmp_path / "ids", [[size - 1]], [[6]], metadata={}, sizes=(size, 7))
    corpus = ParallelCorpus(tmp_path / "ids")
    assert (corpus.source(0).dtype, corpus.target(0).dtype) == (dtype, np.uint16)
    assert corpus.source(0).tolist() == [size - 1, EOS]


def test_the_size_of_chunks_changes_no_byte(path, tmp_path, monkeypatch) -> None:
    for chunk in (1, 2, 3):
        monkeypatch.setattr(corpus_writer, "CHUNK", chunk)
        write_corpus(tmp_path / "again", SOURCES, TARGETS, metadata=METADATA)
        assert (tmp_path / "again").read_bytes() == path.read_bytes()


GROW = """
import sys, resource
from itertools import repeat
from axenat.data.corpus_writer import write_corpus

write_corpus(sys.argv[1], repeat([7] * 20, int(sys.argv[2])), repeat([7] * 20, int(sys.argv[2])), metadata={})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_writing_takes_no_more_memory_for_more_sentences(tmp_path) -> None:
    peaks = []
    for pairs in (200_000, 800_000):
        flags = [tmp_path / "ids", str(pairs)]
        done = subprocess.run([sys.executable, "-c", GROW, *flags], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 8_000  # kB; the file grew by 60,000


@pytest.mark.parametrize("chunk", [1, 7, 8, 64, 1 << 24])
def test_every_changed_byte_is_found_in_its_chunk(path, tmp_path, monkeypatch, chunk) -> None:
    for module in (corpora, corpus_writer):
        monkeypatch.setattr(module, "SUM_BYTES", chunk)
    write_corpus(path, SOURCES, TARGETS, metadata=METADATA)
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    chunks = -(-(len(whole) - start) // chunk)
    corpus = ParallelCorpus(path)
    assert corpus.verify() == hashlib.sha256(whole).hexdigest()
    for place in range(start, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(UserError, match=rf"{path}: damaged .*\(chunk {(place - start) // chunk + 1} of {chunks},"):
            corpus.verify()


def test_a_file_without_checksums_is_not_trusted(path) -> None:
    _with_header(path, lambda header: {**header, "__metadata__": METADATA})
    with pytest.raises(UserError, match=f"{path} has no checksums.*encode it again"):
        ParallelCorpus(path).verify()


def test_checksums_of_less_than_the_whole_file_are_not_trusted(path) -> None:
    _with_header(path, lambda header: {**header, "__metadata__": {**METADATA, SUMS: ""}})
    with pytest.raises(UserError, match=f"{path}: its checksums do not fit its size"):
        ParallelCorpus(path).verify()


def test_the_file_is_a_safetensors_file(path) -> None:
    arrays = load_file(path)
    assert set(arrays) == {"source", "source_offsets", "target", "target_offsets"}
    assert arrays["source"].tolist() == [6, 7, EOS, EOS, 8, 9, 6, EOS]
    assert arrays["source_offsets"].tolist() == [0, 3, 4, 8]


def test_equal_input_gives_equal_bytes(path, tmp_path) -> None:
    write_corpus(tmp_path / "again", SOURCES, TARGETS, metadata=dict(reversed(METADATA.items())))
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_sentences_are_views_that_nobody_can_change(path) -> None:
    sentence = ParallelCorpus(path).source(0)
    assert not sentence.flags.owndata
    assert not sentence.flags.writeable


def test_a_corpus_travels_to_a_worker_as_its_path(path) -> None:
    corpus = ParallelCorpus(path)
    parcel = pickle.dumps(corpus)
    assert len(parcel) < 1000
    assert pickle.loads(parcel).target(1).tolist() == corpus.target(1).tolist()


def test_a_corpus_opens_without_torch() -> None:
    code = "import sys, axenat.data.corpus; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_ids_and_vocabularies_that_do_not_belong_together_are_refused(path) -> None:
    corpus = ParallelCorpus(path)
    corpus.check_vocab(VOCAB, VOCAB)
    with pytest.raises(UserError, match="another source vocabulary"):
        corpus.check_vocab(OTHER, VOCAB)
    with pytest.raises(UserError, match="another target vocabulary"):
        corpus.check_vocab(VOCAB, OTHER)


def test_a_file_cut_anywhere_is_refused_by_name(path) -> None:
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(UserError, match=f"{path}: not a whole id file"):
            ParallelCorpus(path)


def test_a_file_with_something_after_its_end_is_refused(path) -> None:
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(UserError, match="not a whole id file"):
        ParallelCorpus(path)


def _with_header(path, change) -> None:
    whole = path.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])
    text = json.dumps(change(header)).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + whole[8 + size :])


@pytest.mark.parametrize(
    "change",
    [
        lambda header: {**header, "source": {}},
        lambda header: {name: entry for name, entry in header.items() if name != "target"},
        lambda header: {**header, "source": {**header["source"], "dtype": "F32"}},
        lambda header: {**header, "target_offsets": header["source_offsets"]},
        lambda header: {**header, "source": 3},
        lambda header: {**header, "__metadata__": None},
        lambda header: [header],
    ],
)
def test_a_garbled_header_is_refused(path, change) -> None:
    _with_header(path, change)
    with pytest.raises(UserError, match="not a whole id file"):
        ParallelCorpus(path)


def test_other_files_are_refused(tmp_path) -> None:
    (tmp_path / "text").write_text("ein Haus am Meer\n" * 10)
    for name, sentence in [
        ("text", "not a whole id file"),
        ("none", "no such file"),
        (".", "not a whole id file"),
    ]:
        with pytest.raises(UserError, match=sentence):
            ParallelCorpus(tmp_path / name)


@pytest.mark.parametrize(
    ("sources", "targets", "sentence"),
    [
        ([], [], "at least one pair"),
        ([[6]], [], "target side has fewer"),
        ([], [[6]], "source side has fewer"),
    ],
)
def test_sides_that_do_not_pair_up_leave_no_file(tmp_path, sources, targets, sentence) -> None:
    with pytest.raises(UserError, match=sentence):
        write_corpus(tmp_path / "ids", sources, targets, metadata={})
    assert list(tmp_path.iterdir()) == []
