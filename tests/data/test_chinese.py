"""Chinese lines become words and the same lines again; Latin words and Chinese punctuation stay as they are."""

import os
import subprocess
import sys

import jieba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.corpus_config import TextConfig
from axenat.data.chinese import segment, unspace
from axenat.data.text import detokenise, tokenise

LINES = [
    "我们明天去北京大学看朋友。",
    "你喜欢这本书吗？当然喜欢！",
    "他说：“今天的天气真好，我们出去走走吧。”",
    "《红楼梦》的作者是曹雪芹（清代）；这一点、那一点……",
    "Charles Brown于1998年3月5日10:30到达New York。",
    "价格上涨了3.5%，约为1,200元，即$180。",
    "这件T恤和卡拉OK都是Coca-Cola公司的。",
    "it's和don't不一样，请写信到me@home.example.org。",
    "今天是-5度，比分是3:2，1+1=2。",
    "Öğretmen和Москва都是外文词。",
    "她看了看, 没有说话. 后来呢?",
    '"你来吗?" "不来。"',
    "AT&T (美国)有R & B音乐。",
    "阿尔伯特·爱因斯坦住在〇号楼。",
]

BY_JIEBA = jieba.Tokenizer()


@pytest.fixture(autouse=True, scope="module")
def _jieba_writes_elsewhere(tmp_path_factory) -> None:
    BY_JIEBA.tmp_dir = tmp_path_factory.mktemp("jieba")


@pytest.mark.parametrize("line", LINES)
def test_detokenising_undoes_segmenting(line) -> None:
    assert detokenise(tokenise(line, "zh"), "zh") == line


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("他在2019年买了iPhone。", "他 在 2019 年 买 了 iPhone 。"),
        ("don't去New York", "don't 去 New York"),
        ("温度是36.5度", "温度 是 36.5 度"),
        ("见a.b@example.org和10:30", "见 a.b@example.org 和 10:30"),
        ("Tom,Mary和Ann", "Tom , Mary 和 Ann"),
    ],
)
def test_latin_words_and_numbers_are_kept_whole(line, words) -> None:
    assert tokenise(line, "zh") == words


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("ＤＮＡ和１９９８年", "DNA和1998年"),
        ("约３．５％", "约3.5%"),
        ("你好，世界！真的？（是）：好；", "你好，世界！真的？（是）：好；"),
        ("一．二", "一．二"),
        ("零\u200b宽\ufeff字\u200d符\u00ad", "零宽字符"),
        ("全角\u3000空格", "全角空格"),
    ],
)
def test_letters_and_digits_become_ascii_but_punctuation_stays_chinese(line, plain) -> None:
    assert detokenise(tokenise(line, "zh"), "zh") == plain


@pytest.mark.parametrize(
    ("spaced", "line"),
    [
        ("我们 明天 去 北京 。", "我们明天去北京。"),
        ("他 叫 Tom Brown ， 住 在 New York 。", "他叫Tom Brown，住在New York。"),
        ("共 100 000 人 （ 约 ）", "共100 000人（约）"),
        ("“ 来 吧 ！ ” 她 说", "“来吧！”她说"),
        (" 前 后 ", "前后"),
    ],
)
def test_text_that_was_segmented_before_loses_its_spaces_but_those_of_latin_words(spaced, line) -> None:
    assert unspace(spaced) == line
    assert unspace(line) == line


@given(st.text("我们明天去北京大学，。！？“”（）不是了的一二三"))
def test_words_without_latin_letters_are_those_of_jieba(line) -> None:
    assert segment(line).split() == BY_JIEBA.lcut(line)


def test_a_run_is_cut_only_where_it_is_longer_than_any_sentence() -> None:
    run = ("我们明天去北京大学看朋友A1" * 100)[:1000]
    for line in (run, f"{run}，{run}", f"{run}。 （{run}"):
        assert segment(line).split() == [word for word in BY_JIEBA.cut(line) if word != " "]
    longer = "我" + "北京大学" * 300
    assert segment(longer) == f"{segment(longer[:1000])} {segment(longer[1000:])}" != " ".join(BY_JIEBA.cut(longer))
    assert segment("我们" * 499 + "iPhone").split()[-1] == "iPhone"


@pytest.mark.parametrize("length", [2_000, 20_500])
def test_jieba_is_given_every_character_once_and_never_a_run_that_takes_it_long(monkeypatch, length) -> None:
    """Its time grows with the square of a run, so that a line ten times as long may take ten times as long."""
    given: list[str] = []
    cut = jieba.Tokenizer.cut
    monkeypatch.setattr(jieba.Tokenizer, "cut", lambda self, text, *rest: given.append(text) or cut(self, text, *rest))
    line = "我" * length
    segment(line)
    assert "".join(given) == line
    assert max(map(len, given)) <= 1_000


@given(st.text("我北京，。,.'\"-&( AbéЖ12%/:@\u3000"))
def test_segmenting_and_joining_change_nothing_but_spaces(line) -> None:
    words = tokenise(line, "zh")
    assert words == " ".join(words.split())
    assert detokenise(words, "zh").replace(" ", "") == "".join(line.split())


def test_switches_of_the_moses_rules_leave_chinese_alone() -> None:
    every = TextConfig(**dict.fromkeys(TextConfig.__slots__, True))
    for line in LINES:
        assert tokenise(line, "zh", every) == tokenise(line, "zh")
        assert detokenise(tokenise(line, "zh"), "zh", every) == line


def test_jieba_says_nothing_and_leaves_no_file(tmp_path) -> None:
    code = "from axenat.data.chinese import segment; print(segment('我们去北京'))"
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["我们", "去", "北京"]
    assert done.stderr == b"" and not list(tmp_path.iterdir())
