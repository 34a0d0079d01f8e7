"""Terms for BM25."""

import re
import unicodedata
from importlib.resources import files
from itertools import product
from string import ascii_lowercase

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from citewise.text.analysis import STOP_WORDS, _code_tokens, is_cjk, terms
from citewise.text.positions import _beginnings

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")  # the rule: letters and digits, with apostrophes between them


def vocabulary() -> list[str]:
    return files("citewise").joinpath("data", "bert-uncased-vocab.txt").read_text("utf-8").split()


def test_words_are_stemmed_without_stop_words() -> None:
    assert terms("The gauges are calibrating the Sensors").words == ("gaug", "calibr", "sensor")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("getUserName", {"getusername", "get", "user", "name"}),
        ("read_tide_gauge", {"read_tide_gauge", "read", "tide", "gauge"}),
        ("rclpy.node.Node", {"rclpy.node.node", "rclpy", "node"}),
        ("HTTPServer2", {"httpserver2", "http", "server", "2"}),
        ("k8s-prod", {"k8s-prod", "k8s", "k", "8", "s", "prod"}),
        ("plain", {"plain"}),
    ],
)
def test_code_tokens_are_split_and_kept_whole(text: str, tokens: set[str]) -> None:
    assert set(terms(text).code) == tokens


def test_writing_without_spaces_becomes_pairs() -> None:
    assert {"水位", "位計"} <= set(terms("水位計").words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("水位計はどこですか", True),
        ("lastUpdated 默认值", True),
        ("한국어로 질문합니다", True),
        ("What does 水位 mean on the gauge?", False),
        ("Où est la jauge?", False),
        ("Где водомер?", False),
        ("", False),
    ],
)
def test_a_question_with_more_characters_of_such_writing_than_latin_words_is_cjk(text: str, expected: bool) -> None:
    assert is_cjk(text) is expected


def test_terms_hold_no_white_space_and_no_monsters() -> None:
    terms("ok fine")
    cached = _code_tokens.cache_info().currsize
    found = terms("a" * 500 + " \x00 \u2028 ok ﬁne")
    assert _code_tokens.cache_info().currsize == cached
    for token in (*found.words, *found.code):
        assert token
        assert not any(character.isspace() for character in token)
        assert len(token) <= 64
    assert "fine" in found.code


@given(st.text(alphabet="abXY09'_-. \t\x1c\u2019\u00e9\u0130\u0301\u2014\u6f22", max_size=30))
def test_words_are_the_same_whether_split_the_quick_way_or_by_the_rule(text: str) -> None:
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").lower()
    words = [word for word in WORD.findall(plain) if word not in STOP_WORDS]
    assert list(terms(text).words)[: len(words)] == Stemmer.Stemmer("english").stemWords(words)


@pytest.mark.parametrize("text", ["The keeper's tides", "they don't", "O'Neil's", "rock 'n' roll's"])
def test_a_curly_apostrophe_is_an_apostrophe(text: str) -> None:
    assert terms(text.replace("'", "\u2019")) == terms(text)


def test_words_begin_as_their_stems_do() -> None:
    plain = [word for word in vocabulary() if word.isalpha() and word.isascii()]
    short = ["".join(letters) for count in (1, 2) for letters in product(ascii_lowercase, repeat=count)]
    ends = ("", "s", "ing", "ed", "ies", "ied", "ying", "y", "ly", "ization", "bilities", "'s")
    words = [f"{word}{end}" for word in (*plain, *short) for end in ends]
    stems = Stemmer.Stemmer("english", 0).stemWords(words)
    others = [(word, stem) for word, stem in zip(words, stems, strict=True) if not word.startswith(_beginnings(stem))]
    assert len(words) > 100_000
    assert others == []


def test_stop_words_are_short_enough_to_be_read_as_one_number() -> None:
    assert max(len(word.encode()) for word in STOP_WORDS) < 8
