"""Segments of .sgm files as sacrebleu has them, and pairs of .tmx files in flat memory and without tricks."""

import logging
import random
import tracemalloc
from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.data import markup
from axenat.data.markup import sgm_lines, tmx_pairs
from axenat.files import UserError

SGM = """<srcset setid="newstest2013" srclang="any">
<doc sysid="ref" docid="cs/2012/11/30/1" genre="news" origlang="cs">
<hl>
<seg id="1">A Republican strategy   to counter the re-election of Obama</seg>
</hl>
<p>
<seg id="2">Fish &amp; chips &lt;b&gt; \u201cquoted\u201d, 3 > 2 and\ta tab</seg>
<seg id="3"> spaces at the ends \u00a0 and others\u3000here </seg>
<seg id="4"></seg>
<seg id="5">one</seg> after <seg id="6">two</seg>
<seg id="7">its end is
on the next line</seg>
  <seg id="8">not at the beginning</seg>
<SEG id="9">in capitals</SEG>
<seg id=10>next\u0085line \u2028 separators \x0b\x0c\x1c</seg>trailing
<seg id="11"
</p>
</doc>
</srcset>
"""


def as_sacrebleu(source, target) -> list[str]:
    from sacrebleu.dataset.fake_sgml import FakeSGMLDataset

    FakeSGMLDataset("test", data=[], langpairs={})._convert_format(str(source), str(target))
    return target.read_text(encoding="utf-8").removesuffix("\n").split("\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_segments_of_a_real_shaped_file_are_those_of_sacrebleu(tmp_path, newline) -> None:
    path = tmp_path / "a.sgm"
    path.write_bytes(SGM.replace("\n", newline).encode())
    lines = list(sgm_lines(path))
    assert lines == as_sacrebleu(path, tmp_path / "a.txt")
    assert len(lines) == 8
    assert lines[1] == "Fish &amp; chips &lt;b&gt; \u201cquoted\u201d, 3 > 2 and a tab"


pieces = st.sampled_from(
    ["<seg ", "<seg", "</seg>", ">", "<", 'id="1"', " ", "  ", "\t", "\r", "\u2028", "\xa0", "a", "ü", "\n"]
)


@given(st.lists(pieces, max_size=30).map("".join))
def test_whatever_is_in_the_file_the_segments_are_those_of_sacrebleu(tmp_path_factory, text) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = folder / "any.sgm"
    path.write_bytes(f"<seg id='0'>first</seg>\n{text}".encode())
    assert list(sgm_lines(path)) == as_sacrebleu(path, folder / "any.txt")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"plain text\n", "a.sgm: has no segments; in an .sgm file, some lines begin with '<seg '"),
        (b"", "a.sgm: has no segments"),
        (b'<seg id="1">a</seg>\n<seg id="2">\xe4</seg>\n', "a.sgm, line 2: not UTF-8"),
        (None, "a.sgm: no such file"),
    ],
)
def test_an_sgm_file_that_is_none_is_refused(tmp_path, content, sentence) -> None:
    if content is not None:
        (tmp_path / "a.sgm").write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        list(sgm_lines(tmp_path / "a.sgm"))


HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header/><body>\n'


def unit(*sides: tuple[str, str], attribute: str = "xml:lang") -> str:
    variants = [f'<tuv {attribute}="{language}"><seg>{text}</seg></tuv>' for language, text in sides]
    return f"<tu>{''.join(variants)}</tu>\n"


def write(path, *units: str, head: str = HEAD):
    path.write_text(f"{head}{''.join(units)}</body></tmx>", encoding="utf-8")
    return path


def test_languages_count_without_case_and_region_in_either_attribute(tmp_path) -> None:
    path = write(
        tmp_path / "a.tmx",
        unit(("EN-us", "one"), ("de_AT", "eins")),
        unit(("de", "zwei"), ("en", "two"), attribute="lang"),
        unit(("fr", "trois"), ("en-GB", "three"), ("en", "THREE"), ("DE", "drei")),
    )
    for languages in [("en", "de"), ("EN-gb", "de-DE")]:
        assert list(tmx_pairs(path, *languages)) == [("one", "eins"), ("two", "zwei"), ("three", "drei")]
    assert next(iter(tmx_pairs(path, "de", "en"))) == ("eins", "one")


def test_units_that_lack_a_language_are_skipped_and_counted(tmp_path, caplog) -> None:
    path = write(
        tmp_path / "a.tmx",
        unit(("en", "one"), ("de", "eins")),
        unit(("en", "two"), ("fr", "deux")),
        "<tu/><tu><tuv xml:lang='en'/><tuv xml:lang='de'><seg>drei</seg></tuv></tu>",
        unit(("en", ""), ("de", "vier")),
        "<tu><note>n</note><tuv><seg>five</seg></tuv><tuv xml:lang='de'><seg>fünf</seg></tuv></tu>",
    )
    counts = Counter[str]()
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            assert list(tmx_pairs(path, "en", "de", counts)) == [("one", "eins"), ("", "vier")]
    assert counts == {"pairs": 4, "skipped": 8}
    assert caplog.messages[0] == f"{path}: 4 units of 6 skipped, which lack en or de"


def test_inline_tags_go_and_their_text_stays_and_a_segment_is_one_line(tmp_path) -> None:
    sides = [
        ("en", 'A <hi>very <bpt i="1">b</bpt></hi> &amp;\n  &#x2028;<![CDATA[<good>]]><ph/> day<!-- no --> '),
        ("de", "ein&#10;Tag\u3000\x85!"),
    ]
    noise = '<tuv xml:lang="en"><prop>not this</prop><seg>nor this</seg></tuv>'
    path = write(tmp_path / "a.tmx", unit(*sides).replace("</tu>", f"{noise}</tu>"))
    assert list(tmx_pairs(path, "en", "de")) == [("A very b & <good> day", "ein Tag !")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_the_encoding_is_the_one_that_the_file_declares(tmp_path, encoding) -> None:
    declared = encoding.removesuffix("-sig").upper()
    text = f'<?xml version="1.0" encoding="{declared}"?><tmx><body>{unit(("en", "ü"), ("de", "ß"))}</body></tmx>'
    (tmp_path / "a.tmx").write_bytes(text.encode(encoding))
    assert list(tmx_pairs(tmp_path / "a.tmx", "en", "de")) == [("ü", "ß")]


def test_pairs_do_not_depend_on_where_blocks_end(tmp_path, monkeypatch) -> None:
    chance = random.Random(1)
    words = ["Bücher", "&amp;", "<hi>x</hi>", "&#233;", "日本", "\n"]
    texts = [(" ".join(chance.choices(words, k=9)), " ".join(chance.choices(words, k=9))) for _ in range(50)]
    path = write(tmp_path / "a.tmx", *(unit(("en", one), ("de", two)) for one, two in texts))
    slow = [
        tuple(" ".join("".join(segment.itertext()).split()) for segment in element.iter("seg"))
        for element in ElementTree.parse(path).iter("tu")
    ]
    for size in (1, 7, 1000, 1 << 20):
        monkeypatch.setattr(markup, "CHUNK", size)
        assert list(tmx_pairs(path, "en", "de")) == slow


def entity(number: int) -> str:
    inside = f"&a{number - 1};" * 10
    return f'<!ENTITY a{number} "{inside}">'


LAUGHS = "".join(map(entity, range(1, 10)))
HOSTILE = [
    (
        f'<!DOCTYPE tmx [<!ENTITY a0 "ha">{LAUGHS}]><tmx><body>{unit(("en", "&a9;"), ("de", "x"))}',
        "declares the entity a0",
    ),
    (
        f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]><tmx><body>{unit(("en", "&x;"), ("de", "x"))}',
        "declares the entity x",
    ),
    ('<!DOCTYPE tmx [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;]><tmx><body>', "declares the entity p"),
    (
        f'<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx><body>{unit(("en", "&nbsp;"), ("de", "x"))}',
        "uses the unknown entity nbsp",
    ),
    (f"<tmx><body>{unit(('en', '&nbsp;'), ('de', 'x'))}", "line 1: not valid XML .undefined entity"),
]


@pytest.mark.parametrize(("head", "sentence"), HOSTILE)
def test_entities_of_the_files_own_are_refused(tmp_path, head, sentence) -> None:
    path = write(tmp_path / "a.tmx", head=head)
    with pytest.raises(UserError, match=sentence) as caught:
        list(tmx_pairs(path, "en", "de"))
    assert str(caught.value).startswith(f"{path}, line 1: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ((HEAD + unit(("en", "a"), ("de", "b"))).encode(), r"line 5: not valid XML \(no element found\)"),
        ((HEAD + "<tu></tuv>").encode(), r"line 4: not valid XML \(mismatched tag\)"),
        ((HEAD + "<tu>").encode() + b"\xff", r"line 4: not valid XML"),
        (b"", r"line 1: not valid XML \(no element found\)"),
        (b"plain text", "line 1: not valid XML"),
        (b'<?xml version="1.0" encoding="klingon"?><tmx/>', "line 1: .*klingon.*convert it to UTF-8"),
        (b'<?xml version="1.0" encoding="big5"?><tmx/>', "line 1: .*convert it to UTF-8"),
        (b"<tmx/>", "a.tmx: no unit has both en and de; languages there: none"),
        (unit(("fr", "a"), ("EN-gb", "b")).encode(), "no unit has both en and de; languages there: en, fr"),
        (None, "a.tmx: no such file"),
    ],
)
def test_a_tmx_file_that_is_none_is_refused_with_its_place(tmp_path, content, sentence) -> None:
    path = tmp_path / "a.tmx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=sentence) as caught:
        list(tmx_pairs(path, "en", "de"))
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("inside", "sentence"),
    [
        ("<tu><tuv xml:lang='en'><seg>{}</seg></tuv></tu>", "has a segment of more than 1048576 characters"),
        ("<!-- {} -->", "has a tag or comment of more than 1048576 bytes"),
        ("<tu x='{}'/>", "has a tag or comment of more than 1048576 bytes"),
    ],
)
def test_what_would_fill_memory_is_refused_long_before(tmp_path, inside, sentence) -> None:
    path = write(tmp_path / "a.tmx", inside.format("x" * 20_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=rf"a.tmx, line 4: {sentence}"):
            list(tmx_pairs(path, "en", "de"))
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_memory_stays_flat_over_a_large_file(tmp_path) -> None:
    path = write(tmp_path / "a.tmx", *[unit(("en", "x" * 2000), ("de", "y" * 2000), ("fr", "z" * 2000))] * 4000)
    tracemalloc.start()
    try:
        assert sum(1 for _ in tmx_pairs(path, "en", "de")) == 4000
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
