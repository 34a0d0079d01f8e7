"""English text and program code into terms. The tables of stop words are data, the rest is splitting."""

import re
import threading
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import chain

import Stemmer

from citewise.model.terms import Places, Terms

REMEMBERED = 100_000  # identifiers whose tokens are kept at hand; text repeats itself
MOST_CHARACTERS = 64  # a longer token is data (a hash, a base64 run), not a word anyone types

# The usual function words of English; question words are among them, since every question has one.
STOP_WORDS = frozenset(files("citewise").joinpath("data", "stop-words-en.txt").read_text("utf-8").split())

_IDENTIFIER = re.compile(r"[^\W]+(?:[.:/-]+[^\W]+)*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_JOINTS = re.compile(r"[.:/-]+")
_BLANKS = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"})
_APOSTROPHES = "'\u2019"
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


class EnglishAnalyzer:
    """Stems for prose, split and whole tokens for code; writing without spaces becomes pairs of characters."""

    version = "english-1"

    def __init__(self) -> None:
        self._of_thread = threading.local()  # a Stemmer keeps a buffer, so threads must not share one
        # For single words, as questions have them; whole texts are stemmed quicker than looked up.
        self._stem_of = lru_cache(maxsize=REMEMBERED)(lambda word: self._stemmer.stemWord(word))

    @property
    def _stemmer(self) -> Stemmer.Stemmer:
        if not hasattr(self._of_thread, "stemmer"):
            # No cache: to look a word up in it, and to clear it when it is full, takes longer than to stem.
            self._of_thread.stemmer = Stemmer.Stemmer("english", 0)
        return self._of_thread.stemmer

    def terms(self, text: str) -> Terms:
        plain = unicodedata.normalize("NFKC", text)
        return Terms(words=tuple(self._words(plain)), code=tuple(_code_tokens(plain)))

    def places(self, texts: Sequence[str], wanted: Collection[str]) -> list[Places]:
        """Stems a word once for all texts, and only if it begins as a wanted term does, which few do."""
        plain = [unicodedata.normalize("NFKC", text) for text in texts]
        worded = [[word for word in _split(text.lower()) if word not in STOP_WORDS] for text in plain]
        beginnings = tuple({_beginning(term) for term in wanted})
        stem_of = self._stem_of
        seen = set().union(*worded)
        meant = {word: stem for word in seen if word.startswith(beginnings) and (stem := stem_of(word)) in wanted}
        return [_places(words, meant, text, wanted) for words, text in zip(worded, plain, strict=True)]

    def _words(self, text: str) -> list[str]:
        found = [word for word in _split(text.lower()) if word not in STOP_WORDS]
        stems = [stem for stem in self._stemmer.stemWords(found) if 0 < len(stem) <= MOST_CHARACTERS]
        if not text.isascii():
            stems += _pairs(text)
        return stems


def _beginning(stem: str) -> str:
    """How every word with this stem begins: stemming changes the end, and of short words (dying, die) all but one."""
    return stem[:3] if len(stem) > 3 else stem[:1]


def _places(words: Sequence[str], meant: Mapping[str, str], text: str, wanted: Collection[str]) -> Places:
    """Where words with a meaning stand among a text's words, and behind them its pairs of characters."""
    places: dict[str, list[int]] = {}
    for at in [at for at, word in enumerate(words) if word in meant]:
        places.setdefault(meant[words[at]], []).append(at)
    if not text.isascii():
        for at, pair in enumerate(_pairs(text), len(words)):
            if pair in wanted:
                places.setdefault(pair, []).append(at)
    return places


def _split(text: str) -> list[str]:
    """Runs of letters and digits, with apostrophes between them: blanks for all else, then what stands between."""
    if text.isascii():
        plain = text.translate(_BLANKS)
    else:  # there, `translate` takes a look-up a character
        plain = text
        for mark in set(text):
            if not mark.isalnum() and mark not in _APOSTROPHES:
                plain = plain.replace(mark, " ")
    for mark in _APOSTROPHES:
        if mark in plain:
            plain = _without_quotes(plain, mark)
    return plain.split()


def _without_quotes(text: str, apostrophe: str) -> str:
    """An apostrophe stays inside a word, and only there."""
    first, *others = text.split(apostrophe)
    parts, last = [first], first[-1:]
    for part in others:
        parts += (apostrophe if last.isalnum() and part[:1].isalnum() else " ", part)
        last = part[-1:]
    return "".join(parts)


def _pairs(text: str) -> list[str]:
    """Writing without spaces: every two characters that follow each other."""
    return [run[at : at + 2] for run in _CJK.findall(text) for at in range(max(1, len(run) - 1))]


def _code_tokens(text: str) -> Iterator[str]:
    """Each identifier whole, then its dotted parts, then their camelCase, snake_case and digit parts."""
    return chain.from_iterable(map(_tokens_of, _IDENTIFIER.findall(text)))


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
