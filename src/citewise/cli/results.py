"""What `citewise search` and `citewise ask` show: JSON whose keys programs rely on, hits, sources and explanations."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from citewise.cli.output import console, instant, printable, table
from citewise.model.answer import Answer
from citewise.model.query import NOT_SHARED
from citewise.model.ranking import CUT, FUSED, RANKINGS, SCORES, Candidate, Finding, SearchResult
from citewise.text.markdown import Markdown

SNIPPET_CHARACTERS = 240
MAX_WIDTH = 110  # of running text; longer lines are hard to read
PATH_WIDTH = 40
MIN_WIDTH = 165
FEW_DROPPED = 5  # candidates beyond top_k that are shown; --json names each

# The fields of a passage that a hit has under the same name
_SAME = (
    *("chunk_id", "document_id", "document", "title", "section", "breadcrumb", "lines", "page", "source_uri"),
    *("context_prefix", "content_hash", "word_count", "has_code", "has_equations", "chapter_number", "chapter_title"),
    *("corpus_type", "content_type", "module", "chapter", "tags", "language", "symbol", "signature", "service"),
    *("repo", "text"),
)


def search_json(result: SearchResult, *, explain: bool = False) -> dict[str, object]:
    """`search`: the header and the hits, of one page if pages were asked for."""
    hits = [_hit_json(finding) for finding in result.findings]
    return {**_header(result), "hits": hits, **(_dropped_json(result) if explain else {})}


def answer_json(answer: Answer, *, explain: bool = False) -> dict[str, object]:
    """`ask`: the search's header, the answer, and everything it rests on."""
    usage, result = answer.usage, answer.result
    hits = [_hit_json(finding) for finding in result.findings]
    return {
        **_header(result),
        "answer": answer.text,
        "generator": answer.generator,
        "outcome": answer.outcome,
        "sufficient_context": answer.sufficient_context,
        "citations": [asdict(source) for source in answer.citations],
        "removed_markers": answer.removed_markers,
        "unsupported_sentences": list(answer.unsupported_sentences),
        "quality": asdict(answer.quality),
        "usage": {
            "context_tokens_before": usage.context_tokens_before,
            "context_tokens_after": usage.context_tokens_after,
            "total_tokens": usage.total_tokens,
        },
        "suggestions": [asdict(place) for place in answer.suggestions],
        **({"hits": hits, **_dropped_json(result)} if explain else {}),
    }


def _header(result: SearchResult) -> dict[str, object]:
    return {
        "request_id": result.query.request_id,
        "query": result.query.text,
        "mode": result.mode,
        "total_candidates": result.total_candidates,
        "next_cursor": result.next_cursor,
        "has_more": result.next_cursor is not None,
        "cache_hit": result.cache_hit,
        "degraded": list(result.degraded),
        "notes": list(result.notes),
        "counts": dict(result.counts),
        "timings_ms": {stage: round(ms, 3) for stage, ms in result.timings_ms.items()},
        "services": None,
    }


def _hit_json(finding: Finding) -> dict[str, object]:
    """A HIT; absent values are null."""
    passage = finding.passage
    return {
        **{name: getattr(passage, name) for name in _SAME},
        "url": finding.url,
        "stale": passage.stale or None,
        "chunk_index": passage.position,
        "token_count": passage.tokens,
        "created_at": None if passage.created_at is None else instant(passage.created_at),
        "author": passage.location.author,
        "channel": passage.location.channel,
        "timestamp": None if passage.location.sent_at is None else instant(passage.location.sent_at),
        "score": finding.score,
        **_marks(finding.candidate),
    }


def _dropped_json(result: SearchResult) -> dict[str, object]:
    dropped = [
        {"chunk_id": drop.candidate.id, "stage": drop.stage, "reason": drop.reason, **_marks(drop.candidate)}
        for drop in result.dropped
    ]
    return {"dropped": dropped}


def _marks(candidate: Candidate) -> dict[str, object]:
    return {
        "scores": {stage: candidate.scores.get(stage) for stage in SCORES},
        "ranks": {ranking: candidate.ranks.get(ranking) for ranking in RANKINGS},
    }


def show_search(result: SearchResult, max_shown: int | None, *, explain: bool) -> None:
    _show_warnings(result)
    shown = console()
    if explain:
        _show_explanation(result)
    else:
        _show_findings(shown, result, max_shown)
    if result.next_cursor is None:
        return
    if NOT_SHARED in result.notes:  # the cursor ends with this command
        shown.print("there are more results, but no cursor can be saved; `citewise doctor` says why", style="dim")
    else:
        shown.print(Text("more: repeat the command with --cursor", style="dim"), result.next_cursor, soft_wrap=True)


def show_answer(answer: Answer, *, is_compressed: bool, explain: bool) -> None:
    """What stands below the text of an answer, which was printed while it came."""
    _show_warnings(answer.result)
    sys.stdout.write(printable("\n".join(_below(answer))) + "\n")
    if is_compressed:
        before, after = answer.usage.context_tokens_before, answer.usage.context_tokens_after
        sys.stdout.write(f"(compressed: {after:,} of the {before:,} tokens that were found)\n")
    if explain:
        _show_explanation(answer.result)


def _show_warnings(result: SearchResult) -> None:
    """What should have worked and did not, on standard error."""
    for line in result.degraded:
        sys.stderr.write(f"citewise: degraded: {printable(line)}\n")


def _show_findings(shown: Console, result: SearchResult, max_shown: int | None) -> None:
    findings = result.findings[:max_shown]
    if not findings:
        shown.print("No results: nothing you can access matches these filters.")
    for place, finding in enumerate(findings, start=1):
        _show_finding(shown, place, finding)
    again = ", from the cache" if result.cache_hit else ""
    took = f"{result.timings_ms['total']:.0f} ms{again}"
    shown.print(f"{len(findings)} of {result.total_candidates} candidates in {took}", style="dim")
    if more := len(result.findings) - len(findings):
        shown.print(f"{more} more with --limit {len(result.findings)}", style="dim")


def _show_finding(shown: Console, place: int, finding: Finding) -> None:
    passage = finding.passage
    title = printable(" > ".join(passage.breadcrumb) or passage.title)
    shown.print(Text.assemble(f"{place:>2}. ", (title, "bold"), (f"  {finding.score:.3f}", "cyan")))
    where = f"    {_place(passage.document, passage.lines)}  {finding.url or ''}".rstrip() + _stale(passage.stale)
    shown.print(printable(where), style="dim", soft_wrap=True)
    text = Markdown(passage.text)
    snippet = printable(" ".join(text[text.body_start() :].split()))
    cut = snippet if len(snippet) <= SNIPPET_CHARACTERS else f"{snippet[:SNIPPET_CHARACTERS].rsplit(' ', 1)[0]} …"
    shown.print(Padding(cut, (0, 0, 0, 4)), width=min(shown.width, MAX_WIDTH))
    shown.print()


def _place(document: str | None, lines: tuple[int, int] | None) -> str:
    """Such as `ops/radio.md:12`, which editors and terminals open; empty where the document has no name."""
    return f"{document or ''}:{lines[0]}" if document and lines else document or ""


def _stale(reason: str | None) -> str:
    return f"  (older than its file: {reason})" if reason else ""


def _below(answer: Answer) -> Iterator[str]:
    """The sources of an answer, what to ask instead, and remarks."""
    yield ""
    if answer.citations:
        yield "Sources"
    for source in answer.citations:
        yield f"  [{source.n}] {' > '.join(source.breadcrumb) or source.title}"
        if where := source.url or _place(source.document, source.lines):
            yield f"      {where}{_stale(source.stale)}"
    if answer.suggestions:
        yield "Related sections"
    for place in answer.suggestions:
        yield f"  - {place.title}"
        yield f"      {place.url or _place(place.document, place.lines)}"
    for sentence in answer.unsupported_sentences:
        yield f"not supported by its source: {sentence}"
    if answer.removed_markers:
        yield f"{answer.removed_markers} markers pointed at no source and were removed"
    by = f"{answer.generator}, quality {answer.quality.overall or 0:.2f}, " if answer.sufficient_context else ""
    yield f"({by}{answer.result.timings_ms.get('total', 0.0):.0f} ms)"


def _show_explanation(result: SearchResult) -> None:
    """Place and score per ranking and stage, what became of each candidate, and where the time went."""
    candidates = [*(finding.candidate for finding in result.findings), *(drop.candidate for drop in result.dropped)]
    stages = [
        name
        for name in SCORES[len(RANKINGS) :]
        if name == FUSED or any(name in candidate.scores for candidate in candidates)
    ]
    rows = table(["#", "passage"], [*RANKINGS, *stages, "final"], ["why dropped"])
    for place, finding in enumerate(result.findings, start=1):
        where = printable(f"{finding.passage.document}:{finding.passage.location.first}")
        if len(where) > PATH_WIDTH:  # cut in the middle, since both its ends tell it apart
            where = f"{where[: PATH_WIDTH // 2 - 1]}…{where[-(PATH_WIDTH // 2) :]}"
        rows.add_row(str(place), where, *_cells(finding.candidate, stages), "")
    cut = [drop for drop in result.dropped if drop.stage == CUT]
    for drop in [*(drop for drop in result.dropped if drop.stage != CUT), *cut[:FEW_DROPPED]]:
        why = f"{drop.stage}: {drop.reason}"
        rows.add_row("", drop.candidate.id, *_cells(drop.candidate, stages), why, style="dim")
    shown = console(min_width=MIN_WIDTH)
    shown.print(rows)
    if hidden := len(cut[FEW_DROPPED:]):
        shown.print(f"{hidden} more beyond the first {result.query.top_k}; --json names each", style="dim")
    timings = "  ".join(f"{stage} {ms:.1f}" for stage, ms in result.timings_ms.items())
    for line in (
        f"milliseconds (rankings is dense, words and code together): {timings}",
        *result.notes,
    ):
        shown.print(line, style="dim", soft_wrap=True)


def _cells(candidate: Candidate, stages: Sequence[str]) -> list[str]:
    """`place score` for each ranking, then the score of each stage behind them, then the last one."""
    rankings = [
        f"{candidate.ranks[ranking]} {candidate.scores[ranking]:6.3f}" if ranking in candidate.ranks else "-"
        for ranking in RANKINGS
    ]
    later = [f"{candidate.scores[name]:.3f}" if name in candidate.scores else "-" for name in stages]
    return [*rankings, *later, f"{candidate.score:.3f}"]
