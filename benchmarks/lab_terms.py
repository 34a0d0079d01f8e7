"""Other ways of making terms than the product's, and BM25 over them by the product's own index."""

import re
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import Stemmer

from citewise.adapters.local_index.texts import LocalTextIndex
from citewise.model.access import Scope
from citewise.model.chunk import Point, Terms, Vector
from citewise.model.ids import ChunkId
from citewise.ports.indexes import IndexBatch
from citewise.text import analysis
from citewise.text.analysis import MAX_CHARACTERS, STOP_WORDS

NO_MEANING = Vector(b"")  # nobody asks for it

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class TermRules:
    """What is left out of each field, and what is stemmed; these are the product's."""

    words_keep_stop_words: bool = False
    words_are_stemmed: bool = True
    code_keeps_stop_words: bool = True


class VariantAnalyzer:
    """The product's terms by other rules. Writing without spaces, which no set here has, gives none."""

    def __init__(self, rules: TermRules) -> None:
        self._rules = rules
        self._stemmer = Stemmer.Stemmer("english", 0)

    def terms(self, text: str) -> Terms:
        code = analysis.terms(text).code
        if not self._rules.code_keeps_stop_words:
            code = tuple(token for token in code if token not in STOP_WORDS)
        return Terms(tuple(self._words(text)), code)

    def _words(self, text: str) -> Iterator[str]:
        found = _WORD.findall(unicodedata.normalize("NFKC", text).replace("\u2019", "'").lower())
        kept = found if self._rules.words_keep_stop_words else [word for word in found if word not in STOP_WORDS]
        words = self._stemmer.stemWords(kept) if self._rules.words_are_stemmed else kept
        return (word for word in words if 0 < len(word) <= MAX_CHARACTERS)


@contextmanager
def word_index(texts: Mapping[ChunkId, str], analyzer: VariantAnalyzer) -> Iterator[LocalTextIndex]:
    """The texts in an index of their own, to be asked for words only, for as long as the block lasts."""
    points = [Point(id_, NO_MEANING, analyzer.terms(text), frozenset(), {}) for id_, text in texts.items()]
    with tempfile.TemporaryDirectory(prefix="citewise-lab-") as folder:
        index = LocalTextIndex(Path(folder))
        index.write(Scope(), 1, IndexBatch(points, (), 1))
        index.activate(Scope(), 1)
        yield index
