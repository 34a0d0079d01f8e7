"""Neighbors of one section as one text, what they share said once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from citewise.model.passage import Passage
from citewise.model.ranking import Finding, in_order

MOST_OVERLAP_CHARACTERS = 2_000  # far more than a chunker repeats; a bound for texts that repeat themselves


@dataclass(frozen=True, slots=True)
class Run:
    """Findings that follow each other in one section of one document, in its order."""

    findings: tuple[Finding, ...]

    @property
    def best(self) -> Finding:
        return in_order(self.findings)[0]

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(finding.passage for finding in self.findings)


def runs_of(findings: Iterable[Finding]) -> tuple[Run, ...]:
    """The findings with neighbors together, the run with the best finding first; equal ones by id."""
    once = {finding.passage.chunk_id: finding for finding in reversed(in_order(findings))}
    runs: list[list[Finding]] = []
    for finding in sorted(once.values(), key=lambda one: (one.passage.document_id, one.passage.position)):
        if runs and _are_neighbors(runs[-1][-1].passage, finding.passage):
            runs[-1].append(finding)
        else:
            runs.append([finding])
    made = [Run(tuple(run)) for run in runs]
    return tuple(sorted(made, key=lambda run: (-run.best.score, run.best.candidate.id)))


def core_of(run: Run, fits: Callable[[Run], bool]) -> Run:
    """The best finding, and around it as many of the run as fit, the better neighbor first."""
    first = run.findings.index(run.best)
    end = first + 1
    while True:
        wider = [
            (run.findings[new].score, min(first, new), max(end, new + 1))
            for new in (first - 1, end)
            if 0 <= new < len(run.findings)
        ]
        fitting = [(low, high) for _, low, high in sorted(wider, reverse=True) if fits(Run(run.findings[low:high]))]
        if not fitting:
            return Run(run.findings[first:end])
        first, end = fitting[0]


def _are_neighbors(before: Passage, after: Passage) -> bool:
    return (
        before.document_id == after.document_id
        and before.anchor == after.anchor
        and before.position + 1 == after.position
    )


def joined(passages: Sequence[Passage]) -> str:
    """The text of neighbors, in order, as it stands in the document."""
    parts = [passages[0].text]
    for before, after in pairwise(passages):
        parts.append(_continuation(before, after))
    return "".join(parts)


def _continuation(before: Passage, after: Passage) -> str:
    """What the second adds to the first, with the white space between them."""
    shared = _overlap(before, after)
    if shared:
        return after.text[shared:]
    if after.first_line > before.last_line + 1:
        return f"\n\n{after.text}"
    return f"\n{after.text}" if after.first_line > before.last_line else f" {after.text}"


def _overlap(before: Passage, after: Passage) -> int:
    """How many characters the end of one and the beginning of the other share, because the chunker repeated them.

    Text that repeats itself looks the same, so there must be lines that both have, no more of them are taken than
    both have, and only whole words.
    """
    shared_lines = before.last_line - after.first_line + 1
    most = min(len(before.text), len(after.text), MOST_OVERLAP_CHARACTERS)
    for size in range(most, 0, -1):
        if (
            before.text.endswith(after.text[:size])
            and after.text.count("\n", 0, size) < shared_lines
            and _begins_word(before.text, len(before.text) - size)
            and _begins_word(after.text, size)
        ):
            return size
    return 0


def _begins_word(text: str, at: int) -> bool:
    """Whether a cut there leaves every word whole: at an end of the text, or beside white space."""
    return at in (0, len(text)) or text[at - 1].isspace() or text[at].isspace()
