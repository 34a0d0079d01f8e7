"""Evidence: every unit weighed, by words and by meaning, with bounded work."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from citewise.answer.ground import MAX_CHARACTERS, Ground, coverages_of
from citewise.answer.pack import Pack
from citewise.errors import Unavailable
from citewise.model.answer import Context, Evidence
from citewise.model.chunk import Vector, cosine
from citewise.text.urls import Addresses
from tests.builders import a_vector
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.passages import a_finding, a_passage

GAUGE = "The gauge is read at noon. Gulls rest on the pier."
VALVE = "# Valves\n\nTurn the valve left. A valve sticks when it rusts."


def a_context(*texts: str, scores: Sequence[float] = ()) -> Context:
    passages = [a_passage(text, document=f"{at}.md", breadcrumb=()) for at, text in enumerate(texts)]
    given = scores or [1.0] * len(texts)
    findings = [a_finding(evidence, score=score) for evidence, score in zip(passages, given, strict=True)]
    return Pack(WordCounter(), Addresses())(findings)


def a_ground(embedder: HashEmbedder, **knobs: Any) -> Ground:
    return Ground(embedder, WordCounter(), **knobs)


def weighed(question: str, *texts: str, embedder: HashEmbedder | None = None) -> tuple[Evidence, ...]:
    return a_ground(embedder or HashEmbedder()).weigh(question, a_context(*texts))


def best(found: Sequence[Evidence]) -> str:
    return max(found, key=lambda evidence: evidence.score).unit.text


def test_every_unit_of_every_source_is_weighed_in_order() -> None:
    found = weighed("When is the gauge read?", GAUGE, VALVE)
    assert [(evidence.unit.source, evidence.unit.position) for evidence in found] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert all(0 <= evidence.score <= 1 for evidence in found)


def test_the_unit_that_shares_the_question_s_words_is_best() -> None:
    assert best(weighed("When is the gauge read?", GAUGE, VALVE)) == "The gauge is read at noon."


def test_a_word_that_few_units_hold_tells_more() -> None:
    found = weighed("valve rust", VALVE)
    assert found[1].coverage == 1.0
    assert 0 < found[0].coverage < 0.5


def test_a_worse_source_s_units_count_less() -> None:
    context = a_context(GAUGE, GAUGE.replace("noon", "dusk"), scores=(1.0, 0.5))
    first, _, third, _ = a_ground(HashEmbedder()).weigh("When is the gauge read?", context)
    assert first.score > third.score
    assert a_ground(HashEmbedder(), standing=0.0).weigh("When is it read?", context)[2].score > 0


def test_only_the_most_promising_units_are_embedded_and_only_their_beginning() -> None:
    embedder = HashEmbedder()
    long = " ".join(f"The valve has part {number}." for number in range(60))
    found = a_ground(embedder, max_embedded=5).weigh("Which valve?", a_context(long, "x" * 2000))
    assert len(embedder.embedded) == 5
    assert sum(evidence.closeness is not None for evidence in found) == 5
    assert max(map(len, embedder.embedded)) <= MAX_CHARACTERS + len("Tides: ")


def test_a_unit_is_embedded_behind_its_heading_and_without_its_marker() -> None:
    embedder = HashEmbedder()
    context = Pack(WordCounter(), Addresses())([a_finding(a_passage("- Turn left.", breadcrumb=("Book", "Valves")))])
    a_ground(embedder).weigh("How?", context)
    assert embedder.embedded == ["Valves: Turn left."]


def test_a_unit_that_cannot_be_embedded_is_weighed_by_its_words() -> None:
    found = weighed("When is the gauge read?", GAUGE, embedder=HashEmbedder(poison="gauge"))
    assert found[0].closeness is None
    assert found[0].score > 0


def test_without_an_embedder_words_alone_decide() -> None:
    class Silent(HashEmbedder):
        def query(self, text: str) -> Vector:
            raise Unavailable("no model")

    found = weighed("When is the gauge read?", GAUGE, VALVE, embedder=Silent())
    assert {evidence.closeness for evidence in found} == {None}
    assert best(found) == "The gauge is read at noon."


def test_a_question_of_stop_words_covers_nothing() -> None:
    assert coverages_of(frozenset(), [frozenset({"a"})]) == [0.0]


def test_the_cosine_of_a_vector_with_itself_is_one() -> None:
    assert cosine(a_vector(1), a_vector(1)) == pytest.approx(1.0, abs=1e-6)
    assert math.isfinite(cosine(a_vector(1), a_vector(2)))
