"""Whether what a question file expects exists; where it does not, what was probably meant."""

import difflib
import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from citewise.evaluation.cases import Case, Gold
from citewise.model.chunk import Chunk

MAX_COMPARED = 2_000  # names that are compared letter by letter; of more, those whose ends agree best

Chunks = Callable[[str], Sequence[Chunk]]  # of the document with this path


@dataclass(frozen=True, slots=True)
class Missing:
    """A place that is expected and not there."""

    case: str
    gold: Gold
    what: str
    name: str = ""  # of what was looked for
    known: Sequence[str] = ()  # what there is of its kind

    def __str__(self) -> str:
        near = nearest(self.name, self.known) if self.name else None
        return f"{self.case}: {self.what}" + (f"; nearest: {near}" if near else "")


def problems(cases: Iterable[Case], paths: Collection[str], chunks: Chunks) -> list[Missing]:
    """Every place that is expected and not there. Put into words, each names the nearest that is."""
    listed = sorted(paths)
    found = []
    for case in cases:
        for gold in case.gold:
            if gold.document not in paths:
                what = f"there is no document {gold.document}"
                found.append(Missing(case.id, gold, what, gold.document, listed))
            elif gold.chunk or gold.section or gold.first_line:
                found += _in_document(case.id, gold, chunks(gold.document))
    return found


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that is most like this one."""
    likely = known
    if len(known) > MAX_COMPARED:
        likely = heapq.nlargest(MAX_COMPARED, known, key=lambda other: _shared_ends(name, other))
    return next(iter(difflib.get_close_matches(name, likely, n=1, cutoff=0.0)), None)


def _in_document(case: str, gold: Gold, chunks: Sequence[Chunk]) -> Iterable[Missing]:
    ids = [str(chunk.id) for chunk in chunks]
    sections = list(dict.fromkeys(chunk.piece.section for chunk in chunks))
    last = max((chunk.piece.location.last for chunk in chunks), default=0)
    if gold.chunk is not None and gold.chunk not in ids:
        yield Missing(case, gold, f"{gold.document} has no chunk {gold.chunk}", gold.chunk, ids)
    elif gold.section is not None and gold.section not in sections:
        yield Missing(case, gold, f"{gold.document} has no section {gold.section!r}", gold.section, sections)
    elif gold.first_line is not None and gold.first_line > last:
        yield Missing(case, gold, f"{gold.document} has no line {gold.first_line}: its last one is {last}")
    elif gold.first_line is not None and not any(_overlaps(gold, chunk) for chunk in chunks):
        lines = f"{gold.first_line} to {gold.last_line}"
        yield Missing(case, gold, f"no passage of {gold.document} holds any of the lines {lines}")


def _overlaps(gold: Gold, chunk: Chunk) -> bool:
    first, last = gold.first_line or 0, gold.last_line or gold.first_line or 0
    return chunk.piece.location.first <= last and chunk.piece.location.last >= first


def _shared_ends(one: str, other: str) -> int:
    return _shared_start(one, other) + _shared_start(one[::-1], other[::-1])


def _shared_start(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
