"""From passages to an answer: its events, its numbers, what is checked, and how it ends."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from citewise.answer.excerpts import Excerpts
from citewise.answer.extractive import ExtractiveGenerator
from citewise.answer.ground import ANSWERED_CONFIDENCE, MODEL_CONFIDENCE, Ground
from citewise.answer.pack import Pack
from citewise.answer.pipeline import NOT_ANSWERED, NOT_IN_SELECTION, NOT_SEARCHED, AnswerPipeline
from citewise.answer.quality import INSUFFICIENT
from citewise.errors import Cancelled, Unavailable
from citewise.model.access import OWNER
from citewise.model.answer import NOT_SURE, Answer, AnswerEvent, Cited, Done, Failed, Prompt, Quality, Sources, Token
from citewise.model.cancellation import Cancellation
from citewise.model.chunk import Vector
from citewise.model.query import Query, Selection
from citewise.model.ranking import POPULAR, Candidate, Finding, SearchResult
from citewise.ports.models import Generator
from citewise.text.sections import sections_of
from citewise.text.urls import Addresses
from tests.builders import a_passage, an_id
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.fakes.scripted_generator import ScriptedGenerator

TEXTS = ("The gauge is read at noon.", "A staff stands beside the gauge.", "Gulls rest on the pier.")
QUERY = Query("When is the gauge read?", request_id="r-1", asked_at=1.7e9, principal=OWNER, top_k=3)


def searched(query: Query) -> SearchResult:
    findings = tuple(
        Finding(a_passage(text, document=f"{at}.md"), Candidate(a_passage(text).chunk_id, 0.9 - at / 10, {}, {}))
        for at, text in enumerate(TEXTS)
    )
    return SearchResult(query, findings, total_candidates=3, timings_ms={})


def a_pipeline(generator: Generator, **parts: object) -> AnswerPipeline:
    pack, ground = Pack(WordCounter(), Addresses()), Ground(HashEmbedder(), WordCounter())
    pipeline = AnswerPipeline(pack, ground, generator, min_confidence=0.0)
    return replace(pipeline, **parts)  # type: ignore[arg-type]


def events_of(*pieces: str | Exception) -> list[AnswerEvent]:
    return list(a_pipeline(ScriptedGenerator(pieces)).ask(QUERY, searched(QUERY)))


def answer_of(*pieces: str) -> Answer:
    return Answer.of(events_of(*pieces))


def test_what_was_found_comes_before_the_first_token_and_has_no_numbers() -> None:
    sources, *_ = events_of("The gauge is read at noon [1].")
    assert isinstance(sources, Sources)
    assert [(citation.n, citation.document) for citation in sources.citations] == [
        (None, "0.md"),
        (None, "1.md"),
        (None, "2.md"),
    ]


def test_a_source_is_announced_once_right_behind_its_first_marker() -> None:
    _, *events, done = events_of("The gauge is read at noon [", "1]. A staff stands", " beside it [2][1].")
    assert isinstance(done, Done)
    first, second = done.answer.citations
    assert events == [
        Token("The gauge is read at noon"),
        Token(" [1]. A staff stands"),
        Cited(first),
        Token(" beside it [2][1]."),
        Cited(second),
    ]


def test_sources_are_numbered_without_gaps_in_the_order_of_first_use() -> None:
    _, *events, done = events_of("Gulls rest on the pier [3]. ", "The gauge is read at noon [1][3].")
    assert isinstance(done, Done)
    assert done.answer.text == "Gulls rest on the pier [1]. The gauge is read at noon [2][1]."
    cited = [event.citation for event in events if isinstance(event, Cited)]
    assert [(citation.n, citation.document) for citation in cited] == [(1, "2.md"), (2, "0.md")]
    assert done.answer.citations == tuple(cited)
    assert done.answer.unsupported_sentences == ()


def test_what_is_quoted_is_numbered_without_gaps_too() -> None:
    query = replace(QUERY, text="Where do gulls rest on the pier?")
    found = replace(searched(query), findings=searched(query).findings[1:])
    pipeline = a_pipeline(ExtractiveGenerator(), excerpts=Excerpts(max_other_gap=9.0, max_early_gap=9.0))
    answer = Answer.of(pipeline.ask(query, found))
    assert answer.text == (
        "**Tides \u203a Reading** [1]  \nGulls rest on the pier.\n\n"
        "**Tides \u203a Reading** [2]  \nA staff stands beside the gauge."
    )
    assert [(citation.n, citation.document) for citation in answer.citations] == [(1, "2.md"), (2, "1.md")]
    assert (answer.removed_markers, answer.quality.faithfulness) == (0, 1.0)


def test_the_answer_holds_the_text_that_was_streamed() -> None:
    *events, done = events_of("The gauge is read ", "at noon [Source 2, 1] and [9", "9] so on.")
    assert isinstance(done, Done)
    assert done.answer.text == "".join(event.text for event in events if isinstance(event, Token))
    assert done.answer.text == "The gauge is read at noon [1][2] and so on."
    assert done.answer.removed_markers == 1


def test_sentences_that_their_sources_do_not_support_are_named() -> None:
    answer = answer_of("The staff stands beside the gauge [2]. The mayor of the village painted it green [1].")
    assert answer.unsupported_sentences == ("The mayor of the village painted it green [2].",)
    assert answer.quality.faithfulness == 0.5


def test_a_generator_that_says_nothing_has_given_no_answer() -> None:
    answer = answer_of()
    assert (answer.text, answer.sufficient_context) == ("", False)


def test_what_is_held_back_is_told_before_the_end() -> None:
    _, *events, _ = events_of("a [1")
    assert events == [Token("a"), Token(" [1")]


def test_closing_the_events_stops_the_generator() -> None:
    generator = ScriptedGenerator(["one ", "two ", "three"])
    events = a_pipeline(generator).ask(QUERY, searched(QUERY))
    assert isinstance(next(events), Sources)
    assert next(events) == Token("one")
    assert generator.is_at_work
    events.close()
    assert not generator.is_at_work
    assert generator.given == ["one "]


def test_a_generator_that_fails_ends_the_events_and_raises_for_who_waits_for_the_answer() -> None:
    _, *events = events_of("one. ", error := Unavailable("gone"))
    assert events == [Token("one."), Failed(error)]
    with pytest.raises(Unavailable, match="gone"):
        Answer.of(events)


def test_a_cancelled_answer_ends_before_the_next_token() -> None:
    generator, cancellation = ScriptedGenerator(["one ", "two ", "three"]), Cancellation()
    events = a_pipeline(generator).ask(QUERY, searched(QUERY), cancellation=cancellation)
    assert [next(events), next(events)][1] == Token("one")
    cancellation.cancel()
    (last,) = events
    assert isinstance(last, Failed)
    assert isinstance(last.error, Cancelled)
    assert not generator.is_at_work


def test_nothing_is_searched_or_generated_before_it_is_asked_for() -> None:
    generator = ScriptedGenerator(["one"])
    a_pipeline(generator).ask(QUERY, searched(QUERY))
    assert generator.prompts == []


def test_a_model_is_asked_where_what_is_quoted_is_said_to_be_unsure() -> None:
    query = replace(QUERY, text="How high may a quadcopter fly?")
    model = a_pipeline(ScriptedGenerator(["The gauge is read at noon [1]."]), min_confidence=None)
    quoting = a_pipeline(ExtractiveGenerator(), min_confidence=None)
    asked, quoted = (Answer.of(pipeline.ask(query, searched(query))) for pipeline in (model, quoting))
    assert MODEL_CONFIDENCE <= (asked.quality.sufficiency or 0) < ANSWERED_CONFIDENCE
    assert (asked.generator, asked.outcome) == ("scripted", "answered")
    assert (quoted.generator, quoted.outcome) == ("extractive", "unsure")


def test_what_is_unsure_is_the_same_answer_under_an_honest_headline() -> None:
    answered, unsure = (
        Answer.of(a_pipeline(ExtractiveGenerator(), min_confidence=least).ask(QUERY, searched(QUERY)))
        for least in (0.0, 1.0)
    )
    assert (answered.outcome, unsure.outcome) == ("answered", "unsure")
    assert (answered.sufficient_context, unsure.sufficient_context) == (True, False)
    assert unsure.text == f"{NOT_SURE}\n\n{answered.text}"
    assert unsure.citations == answered.citations != ()
    assert (answered.quality.warning, unsure.quality.warning) == (None, INSUFFICIENT)
    assert unsure.suggestions == ()


def test_where_nothing_is_near_nothing_is_quoted_and_places_are_suggested() -> None:
    query = replace(QUERY, text="What does a zeppelin cost in Lima and in Peru?")
    events = list(a_pipeline(ExtractiveGenerator(), min_confidence=None).ask(query, searched(query)))
    answer = Answer.of(iter(events))
    assert (answer.outcome, answer.text, answer.generator) == ("nothing", NOT_ANSWERED, "none")
    assert (answer.citations, answer.sufficient_context) == ((), False)
    assert [each.document for each in answer.suggestions] == ["0.md", "1.md", "2.md"]


def test_a_found_heading_alone_is_no_answer() -> None:
    heading = Finding(a_passage("# When the gauge is read"), Candidate(an_id("h"), 0.9, {}, {}))
    found = replace(searched(QUERY), findings=(heading,))
    answer = Answer.of(a_pipeline(ExtractiveGenerator()).ask(QUERY, found))
    assert (answer.outcome, answer.text, answer.generator) == ("nothing", NOT_ANSWERED, "none")


def test_what_is_quoted_comes_from_the_sections_that_are_handed_in() -> None:
    found = searched(QUERY)
    sections = sections_of(found.findings, [a_passage("The gauge is read by the keeper.", document="0.md", position=1)])
    answer = Answer.of(a_pipeline(ExtractiveGenerator()).ask(QUERY, found, sections))
    assert "The gauge is read by the keeper." in answer.text
    model = ScriptedGenerator(["At noon [1]."])
    Answer.of(a_pipeline(model).ask(QUERY, found, sections))
    assert "keeper" not in model.prompts[0].context.text


def test_of_what_is_popular_nothing_is_quoted() -> None:
    popular = replace(searched(QUERY), counts={POPULAR: 3})
    sources, *_, done = a_pipeline(ExtractiveGenerator()).ask(QUERY, popular)
    assert sources == Sources(())
    assert isinstance(done, Done)
    assert (done.answer.text, done.answer.outcome) == (NOT_SEARCHED, "nothing")


def test_a_selection_is_quoted_and_nothing_else() -> None:
    selection = Selection("Intro.\n\n- The gauge is read at noon.\n- Gulls rest.", "a.md", "Reading")
    answer = Answer.of(a_pipeline(ExtractiveGenerator()).ask_selected(QUERY, selection))
    assert answer.outcome == "answered"
    quoted = answer.text.removesuffix("\n\n[1]")
    assert "The gauge is read at noon." in quoted
    assert "Tides" not in answer.text
    assert all(line in selection.text for line in quoted.splitlines())


def test_of_a_long_selection_only_what_answers_is_quoted() -> None:
    gulls = "\n\n".join(f"Gull {at} rests on roof {at} of the sheds. " * 6 for at in range(40))
    answer = Answer.of(a_pipeline(ExtractiveGenerator()).ask_selected(QUERY, Selection(f"{gulls}\n\n{TEXTS[0]}")))
    assert TEXTS[0] in answer.text
    assert len(answer.text) < len(gulls) / 4


def test_a_selection_that_is_unsure_is_shown_so_and_one_far_off_is_refused() -> None:
    pipeline, selection = a_pipeline(ExtractiveGenerator(), min_confidence=1.0), Selection("The gauge is read at noon.")
    unsure = Answer.of(pipeline.ask_selected(QUERY, selection))
    assert (unsure.outcome, unsure.text) == ("unsure", f"{NOT_SURE}\n\nThe gauge is read at noon.\n\n[1]")
    far = replace(QUERY, text="Who painted Las Meninas in Madrid in 1656?")
    refused = Answer.of(pipeline.ask_selected(far, selection))
    assert (refused.outcome, refused.text) == ("nothing", NOT_IN_SELECTION)
    heading = Answer.of(a_pipeline(ExtractiveGenerator()).ask_selected(QUERY, Selection("# When the gauge is read")))
    assert heading.outcome == "nothing"


def test_what_a_selection_says_is_no_marker_of_ours() -> None:
    selection = Selection("Read the gauge [2] at noon.\n\n| gauge |\n|---|\n| read [1] |")
    answer = Answer.of(a_pipeline(ExtractiveGenerator()).ask_selected(QUERY, selection))
    assert re.findall(r"\[\d+\]", answer.text) == ["[1]"]
    assert answer.removed_markers == 0


class Strict:
    """A quality evaluator of one's own."""

    def quality(self, prompt: Prompt, text: str, *, citations: object, faithfulness: float | None) -> Quality:
        return Quality(0.5, None, None, None, faithfulness, f"{prompt.question} {text}")


def test_quality_is_judged_by_the_evaluator_that_is_handed_in() -> None:
    pipeline = a_pipeline(ScriptedGenerator(["At noon [1]."]), evaluator=Strict())
    answer = Answer.of(pipeline.ask(QUERY, searched(QUERY)))
    assert answer.quality.warning == "When is the gauge read? At noon [1]."


def test_a_selection_is_cited_whatever_is_said_of_it() -> None:
    pipeline = a_pipeline(ScriptedGenerator(["The gauge is read at noon."]))
    sources, *_, done = pipeline.ask_selected(QUERY, Selection("The gauge is read at noon."))
    assert isinstance(sources, Sources)
    assert isinstance(done, Done)
    assert [citation.n for citation in (*sources.citations, *done.answer.citations)] == [None, 1]


def test_an_answer_that_is_cancelled_before_it_begins_is_not_begun() -> None:
    generator, cancellation = ScriptedGenerator(["one"]), Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        next(a_pipeline(generator).ask(QUERY, searched(QUERY), cancellation=cancellation))
    assert generator.given == []


class BrokenEvaluator:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def quality(self, *args: object, **named: object) -> Quality:
        raise self._error


@pytest.mark.parametrize("question", [QUERY.text, "What does a zeppelin cost?"])
@pytest.mark.parametrize("error", [Unavailable("no judge"), RuntimeError("key=hunter2")])
def test_an_evaluator_that_fails_is_named_in_an_answer_and_a_refusal(question: str, error: Exception) -> None:
    pipeline = a_pipeline(ScriptedGenerator(["Gulls. [1]"]), min_confidence=0.4)
    query = replace(QUERY, text=question)
    usual = Answer.of(pipeline.ask(query, searched(query)))
    answer = Answer.of(replace(pipeline, evaluator=BrokenEvaluator(error)).ask(query, searched(query)))
    assert answer.result.degraded == ("quality: not available; the built-in evaluation is given instead",)
    assert (answer.text, answer.quality) == (usual.text, usual.quality)


@pytest.mark.parametrize("pieces", [["The gauge ", ValueError("key=hunter2")], [ValueError("key=hunter2")], [5]])
def test_a_generator_of_anybody_ends_in_failed_whatever_it_raises(pieces: list[Any]) -> None:
    *_, last = a_pipeline(ScriptedGenerator(pieces)).ask(QUERY, searched(QUERY))
    assert isinstance(last, Failed)
    assert isinstance(last.error, Unavailable)
    assert str(last.error).startswith("the generator scripted failed (")
    assert "hunter2" not in str(last.error)


class Silent(HashEmbedder):
    """Embeds questions and no document."""

    def __init__(self, outcome: Unavailable | Exception) -> None:
        super().__init__()
        self._given = outcome

    def documents(self, texts: Sequence[str]) -> tuple[Vector | Unavailable, ...]:
        if isinstance(self._given, Unavailable):
            return tuple(self._given for _ in texts)
        raise self._given


@pytest.mark.parametrize("outcome", [Unavailable("429"), RuntimeError("key=hunter2")])
def test_units_that_cannot_be_embedded_are_named_once(outcome: Exception) -> None:
    pipeline = a_pipeline(ScriptedGenerator(["Gulls. [1]"]))
    pipeline = replace(pipeline, ground=replace(pipeline.ground, embedder=Silent(outcome)))
    said = ("ground: not available; what was not embedded was compared by words",)
    selected = pipeline.ask_selected(QUERY, Selection("The gauge is read at noon."))
    assert Answer.of(selected).result.degraded == said
    query = replace(QUERY, compress=True)
    found = searched(query)
    assert Answer.of(pipeline.ask(query, found)).result.degraded == said
    again = Answer.of(pipeline.ask(query, found.with_degraded("dense: not available")))
    assert again.result.degraded == ("dense: not available",)


def test_no_unit_is_embedded_where_nothing_is_compressed() -> None:
    pipeline = a_pipeline(ExtractiveGenerator())
    pipeline = replace(pipeline, ground=replace(pipeline.ground, embedder=Silent(RuntimeError("asked"))))
    assert Answer.of(pipeline.ask(QUERY, searched(QUERY))).result.degraded == ()
