"""English text and program code into terms. The tables of stop words are data, the rest is splitting."""

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

import Stemmer

from citewise.model.terms import Terms

REMEMBERED = 100_000  # identifiers whose tokens are kept at hand; text repeats itself
MOST_CHARACTERS = 64  # a longer token is data (a hash, a base64 run), not a word anyone types

# The usual function words of English; question words are among them, since every question has one.
STOP_WORDS = frozenset(files("citewise").joinpath("data", "stop-words-en.txt").read_text("utf-8").split())

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_IDENTIFIER = re.compile(r"[^\W]+(?:[.:/-]+[^\W]+)*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_JOINTS = re.compile(r"[.:/-]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


class EnglishAnalyzer:
    """Stems for prose, split and whole tokens for code; writing without spaces becomes pairs of characters."""

    version = "english-1"

    def __init__(self) -> None:
        self._of_thread = threading.local()  # a Stemmer keeps a buffer, so threads must not share one

    @property
    def _stemmer(self) -> Stemmer.Stemmer:
        if not hasattr(self._of_thread, "stemmer"):
            self._of_thread.stemmer = Stemmer.Stemmer("english")
        return self._of_thread.stemmer

    def terms(self, text: str) -> Terms:
        plain = unicodedata.normalize("NFKC", text)
        return Terms(words=tuple(self._words(plain)), code=tuple(_code_tokens(plain)))

    def _words(self, text: str) -> Iterator[str]:
        found = [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]
        yield from (stem for stem in self._stemmer.stemWords(found) if 0 < len(stem) <= MOST_CHARACTERS)
        if not text.isascii():
            for run in _CJK.findall(text):
                yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))


def _code_tokens(text: str) -> Iterator[str]:
    """Each identifier whole, then its dotted parts, then their camelCase, snake_case and digit parts."""
    for whole in _IDENTIFIER.findall(text):
        yield from _tokens_of(whole)


@lru_cache(maxsize=REMEMBERED)
def _tokens_of(whole: str) -> tuple[str, ...]:
    tokens = dict.fromkeys(token.lower() for token in (whole, *_pieces(whole)))
    return tuple(token for token in tokens if 0 < len(token) <= MOST_CHARACTERS)


def _pieces(whole: str) -> Iterator[str]:
    if whole.isalpha() and (whole.islower() or whole.istitle()):
        return
    for name in _JOINTS.split(whole):
        yield name
        yield from _PARTS.findall(name)
