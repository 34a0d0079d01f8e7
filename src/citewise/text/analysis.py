"""English text and program code into terms. The tables of stop words are data, the rest is splitting."""

import re
import threading
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, count

import numpy as np
import numpy.typing as npt
import Stemmer

from citewise.model.chunk import Places, Terms
from citewise.text.stop_words import STOP_WORDS

Numbers = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

BYTES = 8  # of a word that are read as one number, its first byte the lowest
SPREAD = 64  # cells of the table for each stop word; fewer: longer to find one without collisions; more: memory

_APOSTROPHE = ord("'")  # below every letter and digit, above the blank
# Each byte as it stands in words: ASCII letters in lower case, blanks for marks.
_AS_WRITTEN = bytes(
    code if code >= 128 or code == _APOSTROPHE else ord(chr(code).lower()) if chr(code).isalnum() else ord(" ")
    for code in range(256)
)
_FIRST: Numbers = np.array([(1 << 8 * length) - 1 for length in range(BYTES + 1)], dtype=np.uint64)  # by length


class StopWords:
    """Words that do not count, told by their numbers: one look into a table in which each has a cell of its own."""

    def __init__(self, words: Collection[str]) -> None:
        if any(len(word.encode()) >= BYTES for word in words):
            raise ValueError(f"a stop word has to be shorter than {BYTES} bytes, or longer words would be taken for it")
        numbers = np.array(sorted(map(_number, words)), dtype=np.uint64)
        self._cells = next(np.uint64(size) for size in count(SPREAD * len(words)) if _is_apart(numbers % size))
        self._table = np.zeros(int(self._cells), dtype=np.uint64)
        self._table[numbers % self._cells] = numbers

    def among(self, numbers: Numbers) -> Bools:
        found: Bools = self._table[numbers % self._cells] == numbers
        return found


class Words:
    """The words of some texts, in lower case. What is not ASCII in them is lower already, and part of a word."""

    def __init__(self, texts: Sequence[str], stop_words: StopWords) -> None:
        parts = [text.encode("utf-8", "surrogatepass") for text in texts]
        # A blank between two texts and around all, and enough behind the last word to read it as a number.
        self._written = b" ".join((b"", *parts, b" " * BYTES)).translate(_AS_WRITTEN)
        self._starts, self._ends = _bounds(np.frombuffer(self._written, dtype=np.uint8))
        eights = np.ndarray(len(self._written) - BYTES + 1, dtype="<u8", buffer=self._written, strides=(1,))
        self._numbers: Numbers = eights[self._starts] & _FIRST[np.minimum(self._ends - self._starts, BYTES)]
        self._is_counted = ~stop_words.among(self._numbers)
        self._counted = np.zeros(len(self._starts) + 1, dtype=np.intp)  # before each word, and in all
        np.cumsum(self._is_counted, out=self._counted[1:])
        begins = list(accumulate((len(part) + 1 for part in parts), initial=1))
        self._firsts = np.searchsorted(self._starts, begins)  # word a text

    def count(self, text: int) -> int:
        """How many words of this text count."""
        return int(self._counted[self._firsts[text + 1]] - self._counted[self._firsts[text]])

    def that_begin(self, beginnings: Collection[str]) -> Iterator[tuple[int, int, bytes]]:
        """Words that count and begin so, by eight bytes: the text's number, how many count before it there, itself."""
        found = np.flatnonzero(self._is_counted & self._begin({one.encode()[:BYTES] for one in beginnings}))
        texts = np.searchsorted(self._firsts, found, side="right") - 1
        places = self._counted[found] - self._counted[self._firsts[texts]]
        bounds = zip(self._starts[found].tolist(), self._ends[found].tolist(), strict=True)
        words = [self._written[start:end] for start, end in bounds]
        return zip(texts.tolist(), places.tolist(), words, strict=True)

    def _begin(self, heads: Collection[bytes]) -> Bools:
        found = np.zeros(len(self._numbers), dtype=bool)
        for head in heads:
            found |= self._numbers & _FIRST[len(head)] == int.from_bytes(head, "little")
        return found


def _bounds(written: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where words begin and end: runs of letters and digits, with apostrophes between them."""
    is_letter = written > _APOSTROPHE
    is_letter[1:-1] |= (written[1:-1] == _APOSTROPHE) & is_letter[:-2] & is_letter[2:]
    turns = np.flatnonzero(is_letter[1:] != is_letter[:-1]) + 1
    return turns[0::2], turns[1::2]


def _number(word: str) -> int:
    return int.from_bytes(word.encode()[:BYTES], "little")


def _is_apart(cells: Numbers) -> bool:
    return len(np.unique(cells)) == len(cells)


REMEMBERED = 100_000  # identifiers whose tokens are kept at hand; text repeats itself
QUESTIONS_REMEMBERED = 32  # texts whose terms are at hand; 1: threads that ask at once make each other forget
MAX_CHARACTERS = 64  # a longer token is data (a hash, a base64 run), not a word anyone types

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
        stems = [stem for stem in self._stemmer.stemWords(found) if 0 < len(stem) <= MAX_CHARACTERS]
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
    return tuple(token for token in tokens if 0 < len(token) <= MAX_CHARACTERS)


def _pieces(whole: str) -> Iterator[str]:
    if whole.isalpha() and (whole.islower() or whole.istitle()):
        return
    for name in _JOINTS.split(whole):
        yield name
        yield from _PARTS.findall(name)
