"""How much memory an entry takes: counted from its texts and numbers of parts, which is a twentieth of walking it all.

The constants are what CPython 3.11 takes for the parts besides their texts, rounded up; `test_cache_sizes.py` holds
the sums to a walk over every object.
"""

from collections.abc import Iterable
from sys import getsizeof

from citewise.model.answer import Answer
from citewise.model.citation import Citation
from citewise.model.ranking import Finding
from citewise.model.result import SearchResult
from citewise.ports.cache import Entry

# Bytes.
ENTRY = 4_000  # key, query, timings, counts, and what the cache itself needs to find it again
FINDING = 1_500  # a passage's fields, its candidate's scores and ranks
DROPPED = 1_000  # a candidate's scores and ranks
CITATION = 700


def bytes_of(entry: Entry) -> int:
    """An estimate that errs upward: what two entries share is counted twice."""
    value = entry.value
    size = ENTRY
    if entry.meaning is not None:
        size += len(entry.meaning.vector) + _texts(entry.meaning.saying)
    if isinstance(value, Answer):
        return size + _answer(value) + _result(value.result)
    return size + _result(value)


def _result(result: SearchResult) -> int:
    texts = _texts((result.query.text, result.next_cursor or "", *result.notes))
    return texts + sum(map(_finding, result.findings)) + DROPPED * len(result.dropped)


def _finding(finding: Finding) -> int:
    passage = finding.passage
    texts = _texts((passage.text, passage.document, passage.title, passage.section, passage.anchor, finding.url or ""))
    names = _texts((*passage.breadcrumb, *passage.tags))
    return FINDING + texts + names + 2 * getsizeof(str(passage.metadata))


def _answer(answer: Answer) -> int:
    texts = _texts((answer.text, *answer.unsupported_sentences, *answer.suggestions))
    return texts + sum(map(_citation, answer.citations))


def _citation(citation: Citation) -> int:
    return CITATION + _texts((citation.excerpt, citation.title, citation.section, *citation.breadcrumb))


def _texts(texts: Iterable[str]) -> int:
    return sum(map(getsizeof, texts))
