"""Judged questions and the places that answer them. Question files are read in sets.py, BEIR folders in beir.py."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from citewise.errors import BadRequest
from citewise.model.query import Selection

Kind = Literal["answerable", "unanswerable", "selected"]  # finding and answering, refusing, or keeping to a selection
Unit = Literal["document", "passage"]  # what is judged: whole documents (BEIR), or places in them (question files)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a document that was found, or that is expected to answer a question."""

    document: str  # its path in the library
    section: str = ""
    lines: tuple[int, int] | None = None  # first and last
    chunk: str | None = None
    grade: int = 0  # 0 if it answers nothing; the highest grade of a question is a full answer

    def matches(self, found: "Place") -> bool:
        """Whether this place was found. The narrowest part given counts: chunk, lines, section, else the document."""
        if self.chunk is not None:
            return found.chunk == self.chunk
        if found.document != self.document:
            return False
        if self.lines is None:
            return self.section in ("", found.section)
        return found.lines is not None and found.lines[0] <= self.lines[1] and found.lines[1] >= self.lines[0]


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    question: str
    kind: Kind
    gold: tuple[Place, ...] = ()
    group: str = ""  # the author's own label; results are also shown for each group
    answer: str | None = None  # as the author would answer; shown beside the answer given
    must_say: tuple[str, ...] = ()  # what the answer has to contain, alternatives with " || " between them
    must_not: tuple[str, ...] = ()  # what it must not contain
    selection: Selection | None = None
    is_answerable: bool = True  # whether the selection answers the question
    leak_marker: str | None = None  # a phrase of the library that is not in the selection


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """The cases of one evaluation, and the corpus that they are about if the set has its own."""

    name: str
    unit: Unit
    cases: tuple[Case, ...]
    corpus: Path | None = None  # corpus.jsonl, ingested below the name of its folder

    def __post_init__(self) -> None:
        if not self.cases:
            raise BadRequest(f"{self.name} has no questions")
        id_, count = Counter(case.id for case in self.cases).most_common(1)[0]
        if count > 1:
            raise BadRequest(f"{self.name}: two questions have the id {id_!r}; each needs its own")


def read_bytes(file: Path, *, max_bytes: int) -> bytes:
    """The content of a file; BadRequest if it cannot be read or is larger than that."""
    try:
        with file.open("rb") as opened:
            data = opened.read(max_bytes + 1)
    except OSError as error:
        raise BadRequest(f"cannot read {file}: {error.strerror}") from error
    if len(data) > max_bytes:
        raise BadRequest(f"{file} is larger than {max_bytes:,} bytes")
    return data


def counted(number: int, word: str, plural: str | None = None) -> str:
    """`1 question`, `2 questions`."""
    return f"{number:,} {word if number == 1 else plural or f'{word}s'}"
