"""The sections of findings are read once, and each block is compared with the question by its words."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from citewise.errors import Unavailable
from citewise.model.access import Principal
from citewise.model.chunk import Vector, WordVectors, searchable_text
from citewise.model.filters import Where
from citewise.model.ids import ChunkId, Digest
from citewise.model.ranking import DENSE, Damaged, Passage
from citewise.search.sections import REACH, ReadSections
from tests.builders import a_finding, a_query
from tests.fakes.counters import HashEmbedder, HashWords
from tests.sections import passages_of

PAGE = "# Tides\n\n" + "\n\n".join(
    f"Sentence {at} tells of tide number {at}. " + "It goes on for long. " * 12 for at in range(20)
)
PASSAGES = passages_of(PAGE)
WORDS = HashWords(HashEmbedder())
QUERY = a_query("Which tide is number 3?")


class Store:
    """Around a passage are its neighbors; remembers what it was asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[tuple[Sequence[ChunkId], int, Where]] = []
        self._error = error

    def passages(self, ids: Sequence[ChunkId], *, where: Where) -> Mapping[ChunkId, Passage | Damaged]:
        raise AssertionError("what was found is known")

    def neighbors(self, ids: Sequence[ChunkId], *, reach: int, where: Where) -> tuple[Passage, ...]:
        self.asked.append((ids, reach, where))
        if self._error:
            raise self._error
        return tuple(passage for passage in PASSAGES if passage.chunk_id not in ids)

    def request_reingest(self, ids: Collection[ChunkId]) -> None:
        raise AssertionError("nothing is damaged")


class Cache:
    """Word vectors of these passages, or what it is told to give."""

    def __init__(self, passages: Sequence[Passage] = PASSAGES, error: Exception | None = None) -> None:
        texts = [searchable_text(passage.breadcrumb, passage.text) for passage in passages]
        made = (each for each in WORDS.embedded(texts) if not isinstance(each, Unavailable))
        self._words = {passage.text_digest: words for passage, (_, words) in zip(passages, made, strict=True)}
        self._error = error

    def vectors(self, digests: Collection[Digest]) -> Mapping[Digest, Vector]:
        return {}

    def word_vectors(self, digests: Collection[Digest]) -> Mapping[Digest, WordVectors]:
        if self._error:
            raise self._error
        return {key: self._words[key] for key in digests if key in self._words}

    def keep(self, vectors: Mapping[Digest, Vector], words: Mapping[Digest, WordVectors]) -> None:
        raise AssertionError("a search keeps nothing")


FOUND = (a_finding(PASSAGES[1]).rescored(DENSE, 0.5),)


def read(store: Store | None = None, cache: Cache | None = None) -> ReadSections:
    return ReadSections(store or Store(), WORDS, cache or Cache())


def test_the_passages_around_a_finding_are_read_in_one_call_as_the_reader_may_see_them() -> None:
    store, reader = Store(), Principal("ann", frozenset({"ops"}))
    query = replace(QUERY, principal=reader)
    (section,), problems = read(store=store)(query, FOUND)
    assert store.asked == [([PASSAGES[1].chunk_id], REACH, query.where)]
    assert (section.passages, section.best, problems) == (PASSAGES, PASSAGES[1].chunk_id, ())


def every(found: Iterator[tuple[Passage, tuple[float, ...]]]) -> dict[str, float]:
    """Each block's beginning, and how near it is."""
    return {
        passage.text[span.start : span.start + 12].strip(): near
        for passage, closeness in found
        for span, near in zip(passage.blocks, closeness, strict=True)
    }


def test_each_block_has_a_closeness_and_the_one_that_answers_is_nearest() -> None:
    (section,), _ = read()(QUERY, FOUND)
    near = every(zip(section.passages, section.closeness, strict=True))
    assert len(near) > len(PASSAGES)
    assert max((value, name) for name, value in near.items() if name.startswith("Sentence"))[1] == "Sentence 3 t"


def test_a_block_is_as_near_as_its_words_and_the_headings() -> None:
    (section,), _ = read()(QUERY, FOUND)
    passage, closeness = section.passages[1], section.closeness[1]
    span = passage.blocks[0]
    alone = searchable_text(passage.breadcrumb, passage.text[span.start : span.end])
    ((_, words),) = (each for each in WORDS.embedded([alone]) if not isinstance(each, Unavailable))
    assert closeness[0] == pytest.approx(WORDS.closeness(QUERY.text, [words])[0])


def test_a_passage_without_word_vectors_has_no_closeness_and_the_others_do() -> None:
    (section,), problems = read(cache=Cache(PASSAGES[:2]))(QUERY, FOUND)
    assert [bool(closeness) for closeness in section.closeness] == [True, True, *[False] * (len(PASSAGES) - 2)]
    assert problems == ()


def test_where_the_search_did_not_go_by_meaning_neither_do_its_sections() -> None:
    (section,), problems = read()(QUERY, [a_finding(PASSAGES[1])])
    assert (section.passages, section.closeness, problems) == (PASSAGES, (), ())


def test_a_model_that_does_not_tell_words_apart_gives_no_closeness() -> None:
    (section,), problems = ReadSections(Store(), None, Cache())(QUERY, FOUND)
    assert (section.closeness, problems) == ((), ())


@pytest.mark.parametrize("error", [Unavailable("key=hunter2"), RuntimeError("key=hunter2")])
def test_where_neighbors_cannot_be_read_what_was_found_remains(error: Exception) -> None:
    (section,), problems = read(store=Store(error))(QUERY, FOUND)
    assert section.passages == (PASSAGES[1],)
    assert section.closeness
    assert problems == ("sections: not available; what stands around the findings is not shown",)


@pytest.mark.parametrize("error", [Unavailable("key=hunter2"), RuntimeError("key=hunter2")])
def test_where_words_cannot_be_read_the_sections_remain(error: Exception) -> None:
    (section,), problems = read(cache=Cache(error=error))(QUERY, FOUND)
    assert (section.passages, section.closeness) == (PASSAGES, ())
    assert problems == ("sections: not available; blocks were compared by words",)


def test_of_nothing_found_nothing_is_read() -> None:
    assert read()(QUERY, ()) == ((), ())
