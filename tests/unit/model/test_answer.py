"""Answers: what they suggest to open."""

from dataclasses import replace

from citewise.model.answer import Suggestion
from tests.builders import a_finding, a_passage


def test_a_suggestion_is_a_section_with_its_document_lines_and_url() -> None:
    passage = a_passage(document="ops/tides.md", lines=(12, 14), title="Tides", section="Reading")
    (place,) = Suggestion.among([replace(a_finding(passage), url="https://docs.example/tides#reading")], 5)
    expected = Suggestion("Tides \u203a Reading", "ops/tides.md", (12, 14), "https://docs.example/tides#reading")
    assert place == expected


def test_a_section_is_suggested_once_and_two_documents_are_two_places() -> None:
    first, again = a_passage(lines=(1, 9)), a_passage(lines=(9, 12))
    elsewhere = a_passage(document="nets.md", lines=(1, 2))
    places = Suggestion.among(map(a_finding, (first, again, elsewhere)), 5)
    assert [(place.document, place.lines) for place in places] == [("tides.md", (1, 9)), ("nets.md", (1, 2))]


def test_only_the_best_places_are_suggested() -> None:
    findings = [a_finding(a_passage(document=f"{at}.md")) for at in range(9)]
    assert [place.document for place in Suggestion.among(findings, 2)] == ["0.md", "1.md"]
