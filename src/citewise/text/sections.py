"""Passages that were found and what stands around them -> sections, in the order of their best finding."""

from collections.abc import Iterable
from dataclasses import replace

from citewise.model.ids import ChunkId
from citewise.model.ranking import Finding, FoundSection, Passage
from citewise.text.units import spans_of


def sections_of(findings: Iterable[Finding], others: Iterable[Passage] = ()) -> tuple[FoundSection, ...]:
    """Runs of neighbors in one section, best first; those without a finding among them are left out."""
    found: dict[ChunkId, Finding] = {}
    for finding in Finding.in_order(findings):
        found.setdefault(finding.passage.chunk_id, finding)
    known = {passage.chunk_id: passage for passage in others} | {id_: each.passage for id_, each in found.items()}
    runs: list[list[Passage]] = []
    for passage in sorted(known.values(), key=lambda passage: (passage.document_id, passage.position)):
        before = runs[-1][-1] if runs else None
        is_same = before and (before.document_id, before.anchor) == (passage.document_id, passage.anchor)
        if before and is_same and before.position + 1 == passage.position:
            runs[-1].append(passage)
        else:
            runs.append([passage])
    order = {id_: place for place, id_ in enumerate(found)}
    sections = []
    for run in runs:
        best = min(
            (passage.chunk_id for passage in run if passage.chunk_id in order), key=order.__getitem__, default=None
        )
        if best is not None:
            sections.append(FoundSection(tuple(map(_with_blocks, run)), best, found[best].score))
    return tuple(sorted(sections, key=lambda section: order[section.best]))


def _with_blocks(passage: Passage) -> Passage:
    return passage if passage.blocks else replace(passage, blocks=spans_of(passage.text))
