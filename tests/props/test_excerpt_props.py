"""What holds of every excerpt: it stands in its document, it is valid Markdown, and its lines and budget are true."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from citewise.answer.excerpts import MAX_RUNS, Excerpt, Excerpts
from citewise.answer.extractive import ExtractiveGenerator
from citewise.answer.pack import Pack
from citewise.model.answer import Grounds, Prompt
from citewise.model.ranking import FoundSection
from citewise.text.urls import Addresses
from tests.fakes.counters import WordCounter
from tests.props.markdown import document, sentence
from tests.sections import sections_in

COMMONMARK = MarkdownIt("commonmark").enable("table")
QUESTIONS = (
    st.sampled_from(("How do I calibrate?", "What is a tide?", "Which gauge?", "?", "show code", "why wind")) | sentence
)
MARKERS = re.compile(r"\[(\d+)\]")
PACK = Pack(WordCounter(), Addresses())

found = st.lists(document, min_size=1, max_size=3).map(lambda pages: sections_in(*pages))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def stands_in(part: list[str], whole: list[str]) -> bool:
    """Whether the words stand there in this order, whatever was left out between them."""
    rest = iter(whole)
    return all(word in rest for word in part)


@settings(max_examples=60, deadline=None)
@given(QUESTIONS, found, st.integers(1, 5))
def test_an_excerpt_is_a_run_of_its_section(question: str, sections: tuple[FoundSection, ...], max_runs: int) -> None:
    excerpts = Excerpts()(question, sections, max_runs=max_runs)
    assert len(excerpts) <= min(max_runs, MAX_RUNS)
    assert len({excerpt.section.best for excerpt in excerpts}) == len(excerpts)
    for excerpt in excerpts:
        start, end = excerpt.span
        assert stands_in(words(excerpt.text), words(excerpt.joined.text[start:end]))
        assert start <= excerpt.best[0] < excerpt.best[1] <= end <= len(excerpt.joined.text)


def fences(text: str) -> list[str]:
    return [token.content for token in COMMONMARK.parse(text) if token.type == "fence"]


@settings(max_examples=60, deadline=None)
@given(QUESTIONS, found)
def test_code_stays_code_and_nothing_else_becomes_code(question: str, sections: tuple[FoundSection, ...]) -> None:
    for excerpt in Excerpts()(question, sections):
        held = "\n".join(fences(excerpt.joined.text))
        shown = fences(excerpt.text)
        assert all(line in held for code in shown for line in code.splitlines() if line != "\u2026")
        assert len(re.findall(r"^(?:```|~~~~)", excerpt.text, re.MULTILINE)) == 2 * len(shown)


def answer_of(question: str, excerpts: tuple[Excerpt, ...], budget_tokens: int) -> tuple[str, int]:
    context = PACK.within(budget_tokens).quoted(excerpts)
    assert context.tokens <= max(budget_tokens, 0)
    assert [source.n for source in context.sources] == list(range(1, len(context.sources) + 1))
    for source in context.sources:
        first, last = source.citation.lines or (0, 0)
        assert min(passage.location.first for passage in source.passages) <= first <= last
        assert last <= max(passage.location.last for passage in source.passages)
    prompt = Prompt(question, "normal", context, Grounds(0.9, "answered"), ())
    return "".join(ExtractiveGenerator().stream(prompt)), len(context.sources)


@settings(max_examples=60, deadline=None)
@given(QUESTIONS, found, st.integers(0, 200))
def test_an_answer_has_one_marker_for_each_source_whatever_the_budget(
    question: str, sections: tuple[FoundSection, ...], budget_tokens: int
) -> None:
    text, sources = answer_of(question, Excerpts()(question, sections), budget_tokens)
    prose = re.sub(r"<code[^>]*>.*?</code>", "", COMMONMARK.render(text), flags=re.DOTALL)
    assert MARKERS.findall(prose) == [str(n) for n in range(1, sources + 1)]
