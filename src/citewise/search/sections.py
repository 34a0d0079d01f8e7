"""Findings -> sections: what stands around the best findings, and how near each of its blocks is to the question.

An answer shows whole blocks: a procedure with all its steps may reach over several chunks, of which one was found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from citewise.errors import part_failed
from citewise.model.chunk import searchable_text
from citewise.model.query import Query
from citewise.model.ranking import DENSE, Finding, FoundSection, Passage
from citewise.ports.catalog import EmbeddingCache, PassageReader
from citewise.ports.models import WordEmbedder
from citewise.text.sections import sections_of

REACH = 2  # chunks before and behind a finding, in its section; 0: the finding alone; more: long pages are read whole


@dataclass(frozen=True, slots=True)
class ReadSections:
    """Reads the sections of findings and compares their blocks with the question, word by word."""

    store: PassageReader
    words: WordEmbedder | None  # None: this model does not tell words apart
    cache: EmbeddingCache

    def __call__(self, query: Query, findings: Sequence[Finding]) -> tuple[tuple[FoundSection, ...], tuple[str, ...]]:
        """The sections, best first, and what did not work: then a section is what was found of it."""
        problems: list[str] = []
        others: tuple[Passage, ...] = ()
        try:
            ids = [finding.passage.chunk_id for finding in findings]
            others = self.store.neighbors(ids, reach=REACH, where=query.where)
        except Exception as error:  # noqa: BLE001  no optional part may fail a query
            problems.append(part_failed("sections", error, "what stands around the findings is not shown"))
        sections = sections_of(findings, others)
        try:
            if any(DENSE in finding.candidate.scores for finding in findings):  # else the model has nothing to say
                sections = self._weighed(query.text, sections)
        except Exception as error:  # noqa: BLE001  as above
            problems.append(part_failed("sections", error, "blocks were compared by words"))
        return sections, tuple(problems)

    def _weighed(self, question: str, sections: tuple[FoundSection, ...]) -> tuple[FoundSection, ...]:
        if self.words is None:
            return sections
        passages = [passage for section in sections for passage in section.passages]
        stored = self.cache.word_vectors([passage.text_digest for passage in passages])
        known = [passage for passage in passages if passage.text_digest in stored]
        texts = [(stored[passage.text_digest], _parts(passage)) for passage in known]
        near = self.words.part_closeness(question, texts)
        by_id = {passage.chunk_id: scores for passage, scores in zip(known, near, strict=True)}
        return tuple(
            replace(section, closeness=tuple(by_id.get(passage.chunk_id, ()) for passage in section.passages))
            for section in sections
        )


def _parts(passage: Passage) -> list[str]:
    """What was embedded, cut where its blocks begin: the headings first."""
    whole = searchable_text(passage.breadcrumb, passage.text)
    shift = len(whole) - len(passage.text)
    starts = (0, *(shift + span.start for span in passage.blocks), len(whole))
    return [whole[start:end] for start, end in pairwise(starts)]
