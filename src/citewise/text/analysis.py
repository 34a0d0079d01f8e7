"""Text -> terms: stems for prose, split and whole tokens for code, pairs of characters for writing without spaces."""

import re
import threading
import unicodedata
from collections.abc import Iterable, Set
from functools import lru_cache
from importlib.resources import files
from itertools import chain

import Stemmer

from citewise.model.chunk import Terms

ANALYZER_VERSION = "english-2"  # changes when the same text may give other terms; 2: curly apostrophes are straight
MAX_CHARACTERS = 64  # a longer token is data (a hash, a base64 run), not a word anyone types
STOP_WORDS = frozenset(files("citewise").joinpath("data", "stop-words-en.txt").read_text("utf-8").split())

CACHED_TEXTS = 32  # rankings, features and the decision to answer look at the same question
CACHED_CHARACTERS = 2_000  # of one text: no question is longer
CACHED_IDENTIFIERS = 100_000  # text repeats itself, but not what is longer than a token

_IDENTIFIER = re.compile(r"[^\W]+(?:[.:/-]+[^\W]+)*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_JOINTS = re.compile(r"[.:/-]+")
_BLANKS = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"})
_QUOTE = re.compile(r"'(?:(?!\w)|(?<!\w'))")  # an apostrophe that does not stand inside a word
_ASCII = bytes(range(128))
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_local = threading.local()  # a Stemmer has a buffer, so threads must not share one


def terms(text: str) -> Terms:
    """The tokens that BM25 counts, of a document or a query.

    No term is empty, holds white space or is longer than 64 characters. Never raises.
    """
    return _terms(text) if len(text) <= CACHED_CHARACTERS else _terms.__wrapped__(text)


@lru_cache(maxsize=CACHED_TEXTS)
def _terms(text: str) -> Terms:
    plain = _normalized(text)
    uncached = _code_tokens.__wrapped__
    code = ((_code_tokens if len(name) <= MAX_CHARACTERS else uncached)(name) for name in _IDENTIFIER.findall(plain))
    return Terms(words=tuple(_words(plain)), code=tuple(chain.from_iterable(code)))


def stemmer() -> Stemmer.Stemmer:
    """The stemmer of this thread. It has no cache: a lookup takes longer than stemming a word."""
    if not hasattr(_local, "stemmer"):
        _local.stemmer = Stemmer.Stemmer("english", 0)
    return _local.stemmer


def _words(text: str) -> list[str]:
    plain = plain_words(text)
    if plain.isascii():
        plain = plain.translate(_BLANKS)
    else:  # `translate` would look up every character here
        plain = _blanked(plain, (mark for mark in set(plain) if ord(mark) in _BLANKS))
    content = [word for word in _QUOTE.sub(" ", plain).split() if word not in STOP_WORDS]
    words = [stem for stem in stemmer().stemWords(content) if 0 < len(stem) <= MAX_CHARACTERS]
    return words if text.isascii() else words + character_pairs(text)


def plain_words(text: str) -> str:
    """The text in lower case, with a blank for what is neither ASCII nor a letter or digit."""
    if text.isascii():
        return text.lower()
    text = _normalized(text).lower()
    # Through bytes: a look at each character would cost ten times as much.
    others = text.encode("utf-8", "surrogatepass").translate(None, delete=_ASCII).decode("utf-8", "surrogatepass")
    return _blanked(text, (character for character in set(others) if not character.isalnum()))


def character_pairs(text: str) -> list[str]:
    """Writing without spaces: every two characters that follow each other."""
    runs = _CJK.findall(_normalized(text))
    return [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))]


def _normalized(text: str) -> str:
    """NFKC, with straight apostrophes, the only ones that the stemmer knows."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).replace("\u2019", "'")


def _blanked(text: str, marks: Iterable[str]) -> str:
    for mark in marks:
        text = text.replace(mark, " ")
    return text


@lru_cache(maxsize=CACHED_IDENTIFIERS)
def _code_tokens(identifier: str) -> tuple[str, ...]:
    """The identifier whole, then each dotted part of it with its camelCase, snake_case and digit parts."""
    pieces = [identifier]
    is_plain_word = identifier.isalpha() and (identifier.islower() or identifier.istitle())
    for name in () if is_plain_word else _JOINTS.split(identifier):
        pieces += (name, *_PARTS.findall(name))
    tokens = dict.fromkeys(map(str.lower, pieces))
    return tuple(token for token in tokens if 0 < len(token) <= MAX_CHARACTERS)


def stems_in(text: str, stems: Set[str]) -> frozenset[str]:
    """Which of these stems stand in a text, in any of its words; the stem of "duty" is "duti".

    A tenth of the work of stemming the text. "mode" stands in "model" as well.
    """
    lowered = text.lower()
    return frozenset(stem for stem in stems if (stem[:-1] if stem.endswith("i") else stem) in lowered)
