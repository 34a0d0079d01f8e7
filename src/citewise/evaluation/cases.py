"""Questions with what is expected of them. Reading them from files is done elsewhere; everything here is a value."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from citewise.model.ids import ChunkId
from citewise.model.query import Selection


class Kind(StrEnum):
    """What a case tests: finding and answering, refusing, or staying inside a selection."""

    ANSWERABLE = "answerable"
    UNANSWERABLE = "unanswerable"
    SELECTED = "selected"


class Unit(StrEnum):
    """What is judged: whole documents (BEIR), or places in them (question files)."""

    DOCUMENT = "document"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class Gold:
    """A place that answers. The narrowest thing said of it counts: a chunk, lines, a section, else the document."""

    document: str  # its path in the library
    grade: int = 1  # higher is better; the highest of a case is a full answer
    section: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    chunk: ChunkId | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One question and what is expected."""

    id: str
    question: str
    kind: Kind
    gold: tuple[Gold, ...] = ()
    group: str = ""  # the author's own label (paraphrase, table, …): results are also shown for each
    answer: str | None = None  # as the author would have it; shown beside what was found
    selection: Selection | None = None
    is_answerable: bool = True  # of a selection: whether it holds the answer
    leak_marker: str | None = None  # of a selection: words that only the rest of the library has


@dataclass(frozen=True, slots=True)
class CaseSet:
    """The cases of one run."""

    name: str
    unit: Unit
    cases: tuple[Case, ...]

    def of(self, kind: Kind) -> Sequence[Case]:
        return [case for case in self.cases if case.kind is kind]
