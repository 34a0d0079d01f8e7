"""What is expected and not there, and what was probably meant."""

from citewise.evaluation.cases import Case, Gold, Kind
from citewise.evaluation.sets import missing_gold
from citewise.model.chunk import Chunk
from tests.builders import a_write

WRITE = a_write("a.md", ["first", "second", "third"])  # sections N/A, one line each


def chunks(path: str) -> tuple[Chunk, ...]:
    assert path == "a.md"
    return WRITE.chunks


def found(*gold: Gold) -> list[str]:
    return [
        str(missing)
        for missing in missing_gold([Case("q", "?", Kind.ANSWERABLE, gold=gold)], {"a.md", "b/deep.md"}, chunks)
    ]


def test_what_is_there_is_not_missing() -> None:
    there = (
        Gold("a.md"),
        Gold("b/deep.md"),
        Gold("a.md", section="N/A"),
        Gold("a.md", first_line=3, last_line=9),
        Gold("a.md", chunk=WRITE.chunks[1].id),
    )
    assert found(*there) == []


def test_each_missing_place_is_named_with_the_nearest() -> None:
    chunk = WRITE.chunks[1].id
    assert found(
        Gold("deep.md"),
        Gold("a.md", section="N/B"),
        Gold("a.md", first_line=4, last_line=9),
        Gold("a.md", chunk=type(chunk)(f"{chunk[:-1]}x")),
    ) == [
        "q: there is no document deep.md; nearest: b/deep.md",
        "q: a.md has no section 'N/B'; nearest: N/A",
        "q: a.md has no line 4: its last one is 3",
        f"q: a.md has no chunk {chunk[:-1]}x; nearest: {chunk}",
    ]
