"""English text and program code into terms. The tables of stop words are data, the rest is splitting."""

import re
import threading
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

import Stemmer

from citewise.adapters.analyze.places import StopWords, Words
from citewise.adapters.stop_words import STOP_WORDS
from citewise.model.terms import Places, Terms

REMEMBERED = 100_000  # identifiers whose tokens are kept at hand; text repeats itself
QUESTIONS_REMEMBERED = 32  # texts whose terms are at hand; 1: threads that ask at once make each other forget
MOST_CHARACTERS = 64  # a longer token is data (a hash, a base64 run), not a word anyone types

_STOP_WORDS = StopWords(STOP_WORDS)

_IDENTIFIER = re.compile(r"[^\W]+(?:[.:/-]+[^\W]+)*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_JOINTS = re.compile(r"[.:/-]+")
_BLANKS = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"})
_ASCII = bytes(range(128))
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


class EnglishAnalyzer:
    """Stems for prose, split and whole tokens for code; writing without spaces becomes pairs of characters."""

    version = "english-2"  # 2: a curly apostrophe is the straight one

    def __init__(self) -> None:
        self._of_thread = threading.local()  # a Stemmer keeps a buffer, so threads must not share one
        # A search asks for the terms of its question thrice: for two rankings, and for its features.
        self._terms_of = lru_cache(maxsize=QUESTIONS_REMEMBERED)(self._terms)
        # For single words, as questions have them; whole texts are stemmed quicker than looked up.
        self._stem_of = lru_cache(maxsize=REMEMBERED)(lambda word: self._stemmer.stemWord(word.decode()))

    @property
    def _stemmer(self) -> Stemmer.Stemmer:
        if not hasattr(self._of_thread, "stemmer"):
            # No cache: to look a word up in it, and to clear it when it is full, takes longer than to stem.
            self._of_thread.stemmer = Stemmer.Stemmer("english", 0)
        return self._of_thread.stemmer

    def terms(self, text: str) -> Terms:
        return self._terms_of(text)

    def _terms(self, text: str) -> Terms:
        plain = _plain(text)
        return Terms(words=tuple(self._words(plain)), code=tuple(_code_tokens(plain)))

    def places(self, texts: Sequence[str], wanted: Collection[str]) -> Sequence[Places]:
        """Looks at a word only if it begins as a wanted term does, which few do."""
        plain = [_plain(text) for text in texts]
        words = Words([text if text.isascii() else _ascii_marks_lower_others(text) for text in plain], _STOP_WORDS)
        found: list[dict[str, list[int]]] = [{} for _ in texts]
        for number, at, word in words.that_begin({one for term in wanted for one in _beginnings(term)}):
            stem = self._stem_of(word)
            if stem in wanted:
                found[number].setdefault(stem, []).append(at)
        if not all(map(str.isascii, wanted)):
            for number, text in enumerate(plain):
                _add_pairs(found[number], text, wanted, behind=words.count(number))
        return found

    def _words(self, text: str) -> list[str]:
        found = [word for word in _split(text.lower()) if word not in STOP_WORDS]
        stems = [stem for stem in self._stemmer.stemWords(found) if 0 < len(stem) <= MOST_CHARACTERS]
        if not text.isascii():
            stems += _pairs(text)
        return stems


def _plain(text: str) -> str:
    """One way of writing what can be written in several: the stemmer knows the straight apostrophe alone."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text).replace("\u2019", "'")


def _beginnings(stem: str) -> tuple[str, ...]:
    """How every word with this stem begins: it has all letters but the last, unless it is like dying, which is die."""
    plain = stem[: max(2, len(stem) - 1)]
    return (plain, f"{stem[0]}y") if len(stem) == 3 and stem.endswith("ie") else (plain,)


def _add_pairs(places: dict[str, list[int]], text: str, wanted: Collection[str], *, behind: int) -> None:
    """Pairs of characters stand behind all words."""
    for at, pair in enumerate(_pairs(text), behind):
        if pair in wanted:
            places.setdefault(pair, []).append(at)


def _split(text: str) -> list[str]:
    """Runs of letters and digits, with apostrophes between them: blanks for all else, then what stands between."""
    plain = _ascii_marks(text)
    if plain.isascii():
        plain = plain.translate(_BLANKS)
    else:  # there, `translate` takes a look-up a character
        plain = _blanked(plain, (mark for mark in set(plain) if ord(mark) in _BLANKS))
    return (_without_quotes(plain) if "'" in plain else plain).split()


def _ascii_marks(text: str) -> str:
    """Blanks for whatever is not ASCII and no part of a word."""
    return text if text.isascii() else _blanked(text, _no_letters(_beyond_ascii(text)))


def _ascii_marks_lower_others(text: str) -> str:
    """The same, and what is not ASCII in lower case; as most texts have dashes and quotes alone, mostly it is so."""
    others = _beyond_ascii(text)
    if any(one != one.lower() for one in others):
        return _ascii_marks(text.lower())
    return _blanked(text, _no_letters(others))


def _beyond_ascii(text: str) -> set[str]:
    """The characters that are not ASCII. Through bytes: a look at each character would cost ten times as much."""
    others = text.encode("utf-8", "surrogatepass").translate(None, delete=_ASCII)
    return set(others.decode("utf-8", "surrogatepass"))


def _no_letters(characters: Iterable[str]) -> Iterator[str]:
    return (one for one in characters if not one.isalnum())


def _blanked(text: str, marks: Iterable[str]) -> str:
    for mark in marks:
        text = text.replace(mark, " ")
    return text


def _without_quotes(text: str) -> str:
    """An apostrophe stays inside a word, and only there."""
    first, *others = text.split("'")
    parts, last = [first], first[-1:]
    for part in others:
        parts += ("'" if last.isalnum() and part[:1].isalnum() else " ", part)
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
