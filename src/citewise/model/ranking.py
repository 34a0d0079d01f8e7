"""What a search gives back."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter

from citewise.model.chunk import NO_SECTION, Hit
from citewise.model.document import BlockSpan, Json, Location
from citewise.model.ids import ChunkId, Digest, DocumentId
from citewise.model.query import BY_WORD, FEATURES, Mode, Query


@dataclass(slots=True)  # not frozen, which doubles the time to make one: a search makes forty
class Passage:
    """A chunk with the document it stands in. What a corpus does not have is None. Nobody changes one."""

    chunk_id: ChunkId
    document_id: DocumentId
    document: str  # its path
    title: str
    section: str
    breadcrumb: tuple[str, ...]
    anchor: str  # of the section; empty before the first heading
    position: int  # in the document, from 0
    location: Location
    corpus_type: str
    content_type: str
    module: str
    chapter: str
    text: str
    tokens: int
    text_digest: Digest
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)  # of the document: slug, id, …
    language: str | None = None
    source_uri: str | None = None
    created_at: float | None = None  # seconds since 1970: when its document was first stored
    chapter_number: int | None = None
    chapter_title: str | None = None
    word_count: int = 0
    content_hash: Digest | None = None
    has_code: bool = False
    has_equations: bool = False
    blocks: tuple[BlockSpan, ...] = ()
    stale: str = ""  # why its file could not be read since; empty: this is what the file said last
    symbol: str | None = None
    signature: str | None = None
    service: str | None = None
    repo: str | None = None

    @property
    def context_prefix(self) -> str | None:
        """The headings that stand before the text where it is embedded; None without any."""
        return " > ".join(self.breadcrumb) or None

    @property
    def topic(self) -> str:
        return self.title if self.section in (self.title, NO_SECTION) else f"{self.title} \u203a {self.section}"

    @property
    def is_conversation(self) -> bool:
        return self.corpus_type.startswith("CONVO_")

    @property
    def lines(self) -> tuple[int, int] | None:
        return (self.location.first, self.location.last) if self.location.unit == "lines" else None

    @property
    def place(self) -> str:
        """Such as `ops/radio.md:12`, which editors and terminals open."""
        return f"{self.document}:{self.location.first}" if self.lines else self.document

    @property
    def page(self) -> int | None:
        return self.location.first if self.location.unit == "pages" else None


@dataclass(frozen=True, slots=True)
class FoundSection:
    """Neighbors in one section, in order, at least one of which was found."""

    passages: tuple[Passage, ...]
    best: ChunkId  # of what was found
    score: float  # that the search gave it
    # For each passage, how near each of its blocks is to the question by its words; empty where nobody could look.
    closeness: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Damaged:
    """A chunk that is not as it was stored."""

    document: str = ""  # its path; empty where it is not certain who may know


DENSE, WORDS, CODE = "dense", "words", "code"
RANKINGS = (DENSE, WORDS, CODE)
CUT = "cut"  # the stage that keeps the first top_k
POPULAR = "popular"  # passages that did not come from the question, since nothing could be searched
FUSED = "fused"  # the score that all of them give together
# Every score that a candidate may have, in the order in which rankings and stages give them: what --explain and JSON
# show. A stage that gives scores is listed here, in its own file and in the pipeline, and nowhere else.
SCORES = (*RANKINGS, FUSED, *FEATURES, "features", BY_WORD, "late", "rerank", "demote", "freshness", "boost")

NO_PARTS: Mapping[str, float] = {}

_score = attrgetter("candidate.score")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk with its current score, and what each ranking and stage gave it."""

    id: ChunkId
    score: float
    scores: Mapping[str, float]
    ranks: Mapping[str, int]  # by ranking, from 1


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that a stage took out, and why."""

    candidate: Candidate
    stage: str
    reason: str
    place: str = ""  # such as `ops/radio.md:12`; empty where its text was not read


@dataclass(frozen=True, slots=True)
class Rankings:
    """What each ranking found, side by side."""

    query: Query
    hits: Mapping[str, tuple[Hit, ...]]
    timings_ms: Mapping[str, float] = field(default_factory=dict)  # of each ranking: they overlap
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """One order of chunks, best first, scores in 0..1, and the rankings that it was made of."""

    rankings: Rankings
    fused: Mapping[ChunkId, float]  # in order

    def candidates(self, start: int = 0, end: int | None = None) -> tuple[Candidate, ...]:
        """Those at these places: of two hundred that rankings find, a search reads forty."""
        places = {
            ranking: {hit.id: rank for rank, hit in enumerate(hits)} for ranking, hits in self.rankings.hits.items()
        }
        candidates = []
        for id_ in list(self.fused)[start:end]:
            scores: dict[str, float] = {}
            ranks: dict[str, int] = {}
            for ranking, hits in self.rankings.hits.items():
                place = places[ranking].get(id_)
                if place is not None:
                    scores[ranking] = hits[place].score
                    ranks[ranking] = place + 1
            scores[FUSED] = self.fused[id_]
            candidates.append(Candidate(id_, self.fused[id_], scores, ranks))
        return tuple(candidates)


@dataclass(frozen=True, slots=True)
class Finding:
    """A passage with its candidate's scores."""

    passage: Passage
    candidate: Candidate
    url: str | None = None  # where it can be read

    @property
    def score(self) -> float:
        return self.candidate.score

    def rescored(self, stage: str, score: float, *, parts: Mapping[str, float] = NO_PARTS) -> "Finding":
        """With a stage's score, and what that was computed from."""
        before = self.candidate  # field by field: `replace` takes many times as long, in every search
        scores = {**before.scores, **parts, stage: score}
        return Finding(self.passage, Candidate(before.id, score, scores, before.ranks), self.url)

    @staticmethod
    def in_order(findings: Iterable["Finding"]) -> tuple["Finding", ...]:
        """Highest score first; equal ones stay as they stood, which fusion has settled by id."""
        return tuple(sorted(findings, key=_score, reverse=True))


@dataclass(frozen=True, slots=True)
class Shortlist:
    """Findings in order, and what was left out on the way."""

    query: Query
    findings: tuple[Finding, ...]
    dropped: tuple[Dropped, ...] = ()
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def with_findings(self, findings: tuple[Finding, ...]) -> "Shortlist":
        """The same search with these findings, in this order."""
        return Shortlist(self.query, findings, self.dropped, self.degraded, self.notes)  # as above: no `replace`

    def without(self, stage: str, reasons: Mapping[ChunkId, str]) -> "Shortlist":
        """The others, in the same order."""
        kept, gone = [], []
        for finding in self.findings:
            reason = reasons.get(finding.candidate.id)
            if reason is None:
                kept.append(finding)
            else:
                gone.append(Dropped(finding.candidate, stage, reason, finding.passage.place))
        return replace(self, findings=tuple(kept), dropped=(*self.dropped, *gone))

    def with_degraded(self, what: str) -> "Shortlist":
        return replace(self, degraded=(*self.degraded, what))

    def with_note(self, what: str) -> "Shortlist":
        return replace(self, notes=(*self.notes, what))


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Findings, best first, and how they came about."""

    query: Query
    findings: tuple[Finding, ...]
    total_candidates: int  # different chunks that any ranking found
    timings_ms: Mapping[str, float]
    counts: Mapping[str, int] = field(default_factory=dict)  # candidates, hydrated, then what each stage left
    dropped: tuple[Dropped, ...] = ()
    degraded: tuple[str, ...] = ()  # what should have worked and did not
    notes: tuple[str, ...] = ()  # what was not asked for or is not there
    mode: Mode = "normal"
    cache_hit: bool = False
    next_cursor: str | None = None  # where the page after this one begins; None on the last

    @property
    def is_popular(self) -> bool:
        """Whether its findings did not come from the question: no answer may rest on them."""
        return POPULAR in self.counts

    def cut_to(self, query: Query) -> "SearchResult":
        """The result as this query asks for it, of a search with a larger top_k."""
        findings, reason = self.findings[: query.top_k], f"beyond the first {query.top_k}"
        beyond = [
            Dropped(finding.candidate, CUT, reason, finding.passage.place) for finding in self.findings[query.top_k :]
        ]
        others = [replace(dropped, reason=reason) for dropped in self.dropped if dropped.stage == CUT]
        dropped = (*(dropped for dropped in self.dropped if dropped.stage != CUT), *beyond, *others)
        counts = {**self.counts, CUT: len(findings)}
        return replace(self, query=query, findings=findings, counts=counts, dropped=dropped)

    def with_degraded(self, *problems: str) -> "SearchResult":
        return replace(self, degraded=(*self.degraded, *problems))

    def timed(self, stage: str, started: float) -> "SearchResult":
        """With one more stage on its clock, which began at this reading of `time.perf_counter`."""
        took_ms = 1000 * (time.perf_counter() - started)
        total_ms = self.timings_ms.get("total", 0.0) + took_ms
        others = {name: ms for name, ms in self.timings_ms.items() if name != "total"}
        others[stage] = others.get(stage, 0.0) + took_ms
        return replace(self, timings_ms={**others, "total": total_ms})
