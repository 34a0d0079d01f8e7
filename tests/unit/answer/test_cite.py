"""A citation says where a source stands, in words that can be found there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.answer.pack import _citation, _excerpt
from citewise.text.urls import Addresses
from tests.builders import a_passage
from tests.contexts import PACK, a_wide_context, evidence_of, grounds_of

WORDS = " ".join(f"word{n}" for n in range(100))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Short.", "Short."),
        ("  Short.\n", "Short."),
        ("## Reading\n\nThe gauge.", "The gauge."),
        ("# Tides\n\n## Reading\n\n\nA gauge.\n\nA staff.", "A gauge.\n\nA staff."),
        ("## Reading", "## Reading"),
        ("## Reading\n\n", "## Reading"),
        ("#no-heading\ntext", "#no-heading\ntext"),
        ("```\n# so\nmake\n```", "```\n# so\nmake\n```"),
        ("x" * 20, "x" * 20),
        ("x" * 21, "x" * 19 + "\u2026"),
        ("one two three four five", "one two three four\u2026"),
        ("one two three fours five", "one two three fours\u2026"),
        ("one two three fourth five", "one two three\u2026"),
        ("one " + "x" * 30, "one " + "x" * 15 + "\u2026"),  # a word that is too long is cut
        ("one two three  four five", "one two three  four\u2026"),
        ("", ""),
    ],
)
def test_an_excerpt_is_the_beginning_of_the_body_at_a_word(text: str, expected: str) -> None:
    assert _excerpt(text, 20) == expected


def test_an_excerpt_has_200_characters_at_most() -> None:
    assert 190 < len(_excerpt(WORDS)) <= 200


@given(st.text(max_size=60), st.integers(0, 40))
def test_an_excerpt_stands_in_its_text(text: str, limit: int) -> None:
    made = _excerpt(text, limit)
    assert len(made) <= max(limit, 1)
    assert made in text or made.removesuffix("\u2026") in text


def test_a_citation_is_named_after_the_best_passage_and_has_the_lines_of_all() -> None:
    first = a_passage("One.", position=0, lines=(10, 14))
    best = a_passage("Two.", position=1, lines=(14, 20))
    citation = _citation(2, (first, best), Addresses({"": "/docs/"}), best=best, score=0.75)
    assert citation.n == 2
    assert (citation.chunk_id, citation.document_id) == (best.chunk_id, best.document_id)
    assert (citation.document, citation.title, citation.section) == ("tides.md", "Tides", "Reading")
    assert (citation.breadcrumb, citation.url) == (("Tides", "Reading"), "/docs/tides#reading")
    assert (citation.module, citation.chapter) == ("Unknown", "Unknown")
    assert (citation.lines, citation.page) == ((10, 20), None)
    assert (citation.excerpt, citation.score) == ("Two.", 0.75)


def test_a_citation_of_a_printed_document_has_the_page_of_the_best_passage() -> None:
    first, best = a_passage("One.", position=0, page=3), a_passage("Two.", position=1, page=4)
    citation = _citation(2, (first, best), Addresses(), best=best, score=0.75)
    assert (citation.lines, citation.page) == (None, 4)


def test_a_citation_of_code_links_to_the_lines_of_all_its_passages() -> None:
    first = a_passage(lines=(1, 5), corpus_type="CODE_LOGIC", document="a.py")
    second = a_passage(lines=(6, 9), corpus_type="CODE_LOGIC", document="a.py", position=1)
    citation = _citation(1, (first, second), Addresses(repositories={"": "/blob/"}), best=second, score=1.0)
    assert citation.url == "/blob/a.py#L1-L9"


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("One.\n\nTwo.", (1, 3), "One.\n\nTwo."),
        ("# A\n\nOne.\n\nTwo.", (1, 4), "One.\n\nTwo."),  # the file has no blank line behind its heading
        ("One.\n\nTwo.", (1, 5), "One."),  # a comment stood between them
        ("# A\n\nOne.\n \t\nTwo.", (1, 9), "One."),
        ("One.\nTwo.", (1, 9), "One.\nTwo."),
    ],
)
def test_an_excerpt_ends_with_its_paragraph_if_something_was_left_out_of_the_passage(
    text: str, lines: tuple[int, int], expected: str
) -> None:
    passage = a_passage(text, lines=lines)
    assert _citation(1, (passage,), Addresses(), best=passage, score=1.0).excerpt == expected


def test_the_excerpt_begins_with_the_unit_that_speaks_most_of_the_question_though_it_is_wrapped() -> None:
    context = a_wide_context(("Gulls rest here. The gauge\nis read at noon. So it is.\n\nThen sign.", 0.9))
    grounds = grounds_of(evidence_of(context, {"noon": 0.9}))
    assert PACK.citation(context.sources[0], grounds).excerpt == "The gauge\nis read at noon. So it is."
