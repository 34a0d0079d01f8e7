"""Answers from compressed sources: what a query asks for, what a generator sees, and what is reported."""

from collections.abc import Sequence
from typing import Any

import pytest

from citewise.answer.compress import Compress
from citewise.answer.extractive import ExtractiveGenerator
from citewise.answer.ground import Ground
from citewise.answer.pack import Pack
from citewise.answer.pipeline import AnswerPipeline
from citewise.errors import BadRequest, Misconfigured
from citewise.model.answer import Answer, Context, ContextSource, Evidence, Shortened
from citewise.model.query import Query, Selection
from citewise.ports.models import Generator
from citewise.text.urls import Addresses
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.fakes.scripted_generator import ScriptedGenerator
from tests.pipelines.harness import Shelf, a_question

ASKED = "When is the tide gauge read by the harbor master?"
GULLS = " ".join(f"Gull number {at} rests on roof {at} of the shed." for at in range(5))
PAGES = {
    "gauge.md": f"# Gauge\n\n{GULLS}\n\nThe tide gauge is read at noon by the harbor master.\n\n{GULLS}\n",
    **{f"other-{at}.md": f"# Other {at}\n\nThe tide of day {at} is high. {GULLS}\n" for at in range(8)},
}
SELECTED = PAGES["gauge.md"]
QUOTING = ExtractiveGenerator()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf.holding(tmp_path_factory.mktemp("compressed"), PAGES)


def a_query(**changes: Any) -> Query:
    return a_question(ASKED, **{"top_k": 5, **changes})


def a_pipeline(generator: Generator, compress: Compress | None = None) -> AnswerPipeline:
    """One that answers whatever is asked."""
    pack, ground = Pack(WordCounter(), Addresses()), Ground(HashEmbedder(), WordCounter())
    return AnswerPipeline(pack, ground, generator, compress or Compress(), min_confidence=0.0)


def asked(shelf: Shelf, query: Query, *, generator: Generator = QUOTING, compress: Compress | None = None) -> Answer:
    with shelf.searching() as search:
        return Answer.of(a_pipeline(generator, compress or Compress(tokens=100)).ask(query, search(query)))


def selected(query: Query, text: str = SELECTED, *, generator: Generator = QUOTING) -> Answer:
    return Answer.of(a_pipeline(generator, Compress(tokens=60)).ask_selected(query, Selection(text)))


def a_model() -> ScriptedGenerator:
    return ScriptedGenerator(["The tide gauge is read at noon by the harbor master [1]."])


def test_excerpts_are_not_compressed_but_get_no_more_tokens_than_a_compressed_context(shelf: Shelf) -> None:
    few = Compress(tokens=40)
    plain, short = (asked(shelf, a_query(compress=compress), compress=few) for compress in (False, True))
    assert short.usage.context_tokens_after <= 40 < plain.usage.context_tokens_after
    assert "read at noon by the harbor master." in short.text
    assert "compress" not in short.result.timings_ms


def shown(generator: ScriptedGenerator) -> Context:
    return generator.prompts[0].context


def test_a_compressed_answer_says_the_same_from_fewer_tokens(shelf: Shelf) -> None:
    plain, short = (asked(shelf, a_query(compress=compress), generator=a_model()) for compress in (False, True))
    assert plain.text == short.text == "The tide gauge is read at noon by the harbor master [1]."
    assert plain.unsupported_sentences == short.unsupported_sentences == ()
    assert short.usage.context_tokens_before == plain.usage.context_tokens_before
    assert short.usage.context_tokens_after <= 100 < plain.usage.context_tokens_after
    assert short.usage.total_tokens < plain.usage.total_tokens
    assert "compress" in short.result.timings_ms
    assert "compress" not in plain.result.timings_ms


def test_citations_of_a_compressed_answer_are_those_of_the_whole_one(shelf: Shelf) -> None:
    plain, short = (
        asked(shelf, a_query(compress=compress), generator=a_model()).citations[0] for compress in (False, True)
    )
    assert (short.document, short.lines, short.excerpt) == (plain.document, plain.lines, plain.excerpt)
    assert short.excerpt.startswith("The tide gauge is read at noon")


def test_a_generator_sees_marks_where_something_was_left_out(shelf: Shelf) -> None:
    generator = ScriptedGenerator(["At noon [1]."])
    asked(shelf, a_query(compress=True), generator=generator)
    assert "The tide gauge is read at noon by the harbor master.\n\n\u2026" in shown(generator).text
    assert shown(generator).text in generator.prompts[0].messages[-1].content
    assert [one.n for one in shown(generator).sources] == list(range(1, len(shown(generator).sources) + 1))


def test_what_is_quoted_is_still_shown(shelf: Shelf) -> None:
    generator = ScriptedGenerator(["At noon [1]."])
    asked(shelf, a_query(compress=True), generator=generator)
    prompt = generator.prompts[0]
    assert prompt.grounds.evidence
    assert all(one.unit.text in prompt.context.text.replace("\n", " ") for one in prompt.grounds.evidence)


def test_a_sentence_of_an_answer_is_checked_against_the_whole_source(shelf: Shelf) -> None:
    left_out = "Gull number 2 rests on roof 2 of the shed [1]."
    generator = ScriptedGenerator([left_out])
    answer = asked(shelf, a_query(compress=True), generator=generator)
    assert "number 2 rests" not in shown(generator).text
    assert answer.unsupported_sentences == ()


@pytest.mark.parametrize("budget", [50, 80, 200, 100_000])
@pytest.mark.parametrize("compress", [False, True])
def test_the_budget_of_a_query_holds(shelf: Shelf, budget: int, *, compress: bool) -> None:
    query = a_query(compress=compress, budget_tokens=budget)
    assert 0 < asked(shelf, query, generator=a_model()).usage.context_tokens_after <= budget
    assert 0 < asked(shelf, query).usage.context_tokens_after <= budget
    assert 0 < selected(query).usage.context_tokens_after <= budget


def test_settings_decide_for_a_query_that_does_not_say(shelf: Shelf) -> None:
    always = Compress(is_on=True, tokens=100)
    for query, is_short in ((a_query(), True), (a_query(compress=False), False)):
        answer = asked(shelf, query, generator=a_model(), compress=always)
        assert (answer.usage.context_tokens_after <= 100) is is_short


class Broken:
    name = "broken"

    def shortened(
        self,
        question: str,
        sources: Sequence[ContextSource],
        evidence: Sequence[Evidence],
        *,
        wanted_tokens: int,
        max_tokens: int,
    ) -> tuple[Shortened, ...]:
        raise Misconfigured("the model is gone")


def test_a_compressor_that_fails_degrades_the_answer_and_no_more(shelf: Shelf) -> None:
    answer = asked(shelf, a_query(compress=True), generator=a_model(), compress=Compress(Broken(), tokens=100))
    assert answer.result.degraded == ("compress: not set up; sentences were chosen instead",)
    assert "read at noon" in answer.text


def test_a_selection_is_compressed_to_what_speaks_of_the_question() -> None:
    generator = ScriptedGenerator(["At noon [1]."])
    answer = selected(a_query(compress=True), generator=generator)
    assert "The tide gauge is read at noon by the harbor master." in shown(generator).text
    assert answer.usage.context_tokens_after <= 60 < answer.usage.context_tokens_before
    assert [(one.chunk_id, one.lines) for one in answer.citations] == [("selection", None)]


def test_tokens_of_a_selection_are_counted_before_anything_is_left_out() -> None:
    text = f"{SELECTED}\n\n" * 40
    answer = selected(a_query(compress=False), text)
    assert answer.usage.context_tokens_before >= WordCounter().counts([text])[0] > 2_000
    assert answer.usage.context_tokens_after <= 2_000


def test_a_budget_without_room_for_a_selection_is_the_caller_s_to_raise() -> None:
    long_name = Selection("noon", "a/" * 60, "b " * 60)
    ask = a_pipeline(QUOTING).ask_selected
    with pytest.raises(BadRequest, match="50 tokens leave no room"):
        list(ask(a_query(budget_tokens=50), long_name))
