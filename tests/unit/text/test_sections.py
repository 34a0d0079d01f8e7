"""What was found and what stands around it, as runs of neighbors in one section."""

from dataclasses import replace

from citewise.model.document import BlockKind, BlockSpan
from citewise.model.ranking import FoundSection, Passage
from citewise.text.sections import sections_of
from tests.builders import a_finding, a_passage


def at(position: int, anchor: str = "reading", document: str = "a.md") -> Passage:
    return a_passage(f"Number {position}.", document=document, anchor=anchor, position=position)


def shape(sections: tuple[FoundSection, ...]) -> list[tuple[float, list[str]]]:
    return [(section.score, [passage.text for passage in section.passages]) for section in sections]


def test_of_nothing_there_is_no_section() -> None:
    assert sections_of(()) == sections_of((), [at(1)]) == ()


def test_neighbors_of_a_finding_are_of_its_section_in_the_order_of_the_document() -> None:
    found = [a_finding(at(2), score=0.5)]
    (section,) = sections_of(found, [at(3), at(1), at(4), at(6)])
    assert [passage.text for passage in section.passages] == ["Number 1.", "Number 2.", "Number 3.", "Number 4."]
    assert (section.best, section.score, section.closeness) == (at(2).chunk_id, 0.5, ())


def test_a_gap_another_section_or_document_begins_another_run() -> None:
    found = [a_finding(each, score=0.5) for each in (at(1), at(3), at(4, "other"), at(5, "other", "b.md"))]
    assert len(sections_of(found)) == 4
    assert [len(section.passages) for section in sections_of(found, [at(2)])] == [3, 1, 1]


def test_sections_come_by_their_best_finding_and_equal_ones_as_they_stood() -> None:
    found = [a_finding(at(1), score=0.2), a_finding(at(2), score=0.9), a_finding(at(1, "x"), score=0.5)]
    assert shape(sections_of(found)) == [(0.9, ["Number 1.", "Number 2."]), (0.5, ["Number 1."])]
    first, second = a_finding(at(1, "x"), score=0.5), a_finding(at(1, "y"), score=0.5)
    assert [section.best for section in sections_of([first, second])] == [
        first.passage.chunk_id,
        second.passage.chunk_id,
    ]
    assert sections_of([second, first])[0].best == second.passage.chunk_id


def test_what_stands_around_no_finding_is_left_out() -> None:
    assert shape(sections_of([a_finding(at(1))], [at(2, "other"), at(9)])) == [(0.5, ["Number 1."])]


def test_a_finding_that_comes_twice_counts_once() -> None:
    assert len(sections_of([a_finding(at(1)), a_finding(at(1))], [at(1)])[0].passages) == 1


def test_blocks_that_were_stored_stay_and_others_are_found() -> None:
    stored = (BlockSpan(BlockKind.QUOTE, 0, 6),)
    known, unknown = replace(at(1), blocks=stored), at(2)
    (section,) = sections_of([a_finding(known), a_finding(unknown)])
    assert [passage.blocks for passage in section.passages] == [stored, (BlockSpan(BlockKind.PARAGRAPH, 0, 9),)]
