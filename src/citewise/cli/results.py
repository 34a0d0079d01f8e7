"""What `citewise search` and `citewise ask` show: JSON whose keys programs rely on, hits, sources and explanations."""

import sys
from collections.abc import Mapping
from dataclasses import asdict

from rich.console import Console
from rich.style import Style
from rich.text import Text

from citewise.cli.output import console, instant, one_line, printable, printable_start
from citewise.model.answer import Answer
from citewise.model.query import NOT_SHARED
from citewise.model.ranking import CUT, RANKINGS, SCORES, Candidate, Finding, SearchResult
from citewise.text.cutting import ELLIPSIS
from citewise.text.markdown import Markdown

SNIPPET_CHARACTERS = 240
MAX_WIDTH = 110  # of running text; longer lines are hard to read
SHORT_NAMES = {
    "proximity": "near",
    "features": "feats",
    "by_word": "word",
    "rerank": "rank",
    "demote": "lower",
    "freshness": "fresh",
}
HEADINGS = " \u203a "  # between headings, as in answers
QUOTED = "extractive"  # the generator that only quotes, which a reader need not know
MIN_PLACE = 20  # characters of a place that are shown, however narrow the terminal
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
        {
            **{"chunk_id": drop.candidate.id, "place": drop.place or None, "stage": drop.stage, "reason": drop.reason},
            **_marks(drop.candidate),
        }
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
        _show_explanation(shown, result)
    else:
        _show_findings(shown, result, max_shown)
    if result.next_cursor is None:
        return
    if NOT_SHARED in result.notes:  # the cursor ends with this command
        shown.print("there are more results, but no cursor can be saved; `citewise doctor` says why", style="dim")
    else:
        shown.print(Text("more: repeat the command with --cursor", style="dim"), result.next_cursor, soft_wrap=True)


class AnswerStream:
    """The text of an answer while it comes: Markdown that is rendered on a terminal, and as it is elsewhere."""

    def __init__(self) -> None:
        shown = console()
        self._held = ""  # of an escape that has begun
        self._rendered = None
        if shown.is_terminal:
            from citewise.cli.terminal import MarkdownStream

            self._rendered = MarkdownStream(shown, max_width=MAX_WIDTH)

    def write(self, text: str) -> None:
        safe, self._held = printable_start(self._held + text)
        self._write(safe)

    def close(self) -> None:
        self._write(printable(self._held))
        if self._rendered:
            self._rendered.close()
        else:
            sys.stdout.write("\n")  # what is printed next is not part of the answer

    def _write(self, safe: str) -> None:
        if self._rendered:
            self._rendered.write(safe)
        else:
            sys.stdout.write(safe)
            sys.stdout.flush()


def show_answer(answer: Answer, *, is_compressed: bool, explain: bool) -> None:
    """What stands below the text of an answer, which was printed while it came."""
    _show_warnings(answer.result)
    shown = console()
    _show_sources(shown, answer)
    _show_remarks(shown, answer)
    if is_compressed:
        before, after = answer.usage.context_tokens_before, answer.usage.context_tokens_after
        shown.print(f"(compressed: {after:,} of the {before:,} tokens that were found)", style="dim", soft_wrap=True)
    if explain:
        _show_explanation(shown, answer.result)


def show_next(advice: str) -> None:
    """What to do next, where nothing was found or answered: on one line, with a command to copy."""
    reason, colon, command = printable(advice).partition(": ")
    console().print(Text.assemble(reason, colon, (command, "bold")), soft_wrap=True)


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
    title = one_line(HEADINGS.join(passage.breadcrumb) or passage.title)
    _print(shown, Text.assemble((title, "bold"), (f"  {finding.score:.3f}", "cyan")), mark=f"{place:>2}. ")
    _show_place(shown, passage.place, finding.url, indent=4, stale=passage.stale)
    text = Markdown(passage.text)
    snippet = one_line(text[text.body_start() :])
    cut = snippet if len(snippet) <= SNIPPET_CHARACTERS else f"{snippet[:SNIPPET_CHARACTERS].rsplit(' ', 1)[0]} …"
    _print(shown, Text(cut), mark="    ")
    shown.print()


def _show_place(shown: Console, place: str, url: str | None, *, indent: int, stale: str | None) -> None:
    """Where to open it, on one line however long: a URL, which is a link on a terminal, or `path:line`."""
    where = one_line(url or place)
    link = where if where.startswith(("https://", "http://")) else None
    remark = f"  (older than its file: {one_line(stale)})" if stale else ""
    text = Text.assemble(" " * indent, (where, Style(dim=True, link=link)), (remark, "yellow"))
    shown.print(text, soft_wrap=True)


def _print(shown: Console, text: Text, *, mark: Text | str = "") -> None:
    """Running text behind a mark: wrapped on a terminal, on one line elsewhere, so that programs find words in it."""
    start = Text.assemble(mark)
    width = max(min(shown.width, MAX_WIDTH) - start.cell_len, 1)
    for line in text.wrap(shown, width) if shown.is_terminal else (text,):
        line.rstrip()
        shown.print(Text.assemble(start, line), soft_wrap=True)
        start = Text(" " * start.cell_len)


def _show_sources(shown: Console, answer: Answer) -> None:
    """The sources of an answer, or what to open instead."""
    shown.print()
    if answer.citations:
        shown.print("Sources", style="bold")
    for source in answer.citations:
        title = one_line(HEADINGS.join(source.breadcrumb) or source.title)
        _print(shown, Text(title), mark=Text.assemble("  ", (f"[{source.n}]", "cyan"), " "))
        place = _place(source.document, source.lines)
        if source.url or place:
            _show_place(shown, place, source.url, indent=6, stale=source.stale)
    if answer.suggestions:
        shown.print("Nearest sections", style="bold")
    for near in answer.suggestions:
        _print(shown, Text(one_line(near.title)), mark="  - ")
        _show_place(shown, _place(near.document, near.lines), near.url, indent=4, stale=None)


def _place(document: str | None, lines: tuple[int, int] | None) -> str:
    """Such as `ops/radio.md:12`; empty where the document has no name."""
    return f"{document or ''}:{lines[0]}" if document and lines else document or ""


def _show_remarks(shown: Console, answer: Answer) -> None:
    for sentence in answer.unsupported_sentences:
        _print(shown, Text(f"not supported by its source: {one_line(sentence)}", style="yellow"))
    if answer.removed_markers:
        _print(shown, Text(f"{answer.removed_markers} markers pointed at no source and were removed", style="yellow"))
    is_written = answer.sufficient_context and answer.generator != QUOTED
    by = f"{one_line(answer.generator)}, " if is_written else ""
    shown.print(f"({by}{answer.result.timings_ms.get('total', 0.0):.0f} ms)", style="dim")


def _show_explanation(shown: Console, result: SearchResult) -> None:
    """Place and score per ranking and stage, what became of each candidate, and where the time went.

    A candidate has two lines, where it stands and its numbers, so that they fit a terminal of 80 columns.
    """
    cut = [drop for drop in result.dropped if drop.stage == CUT]
    others = [drop for drop in result.dropped if drop.stage != CUT]
    listed = [*others, *cut[:FEW_DROPPED]]
    candidates = [*(finding.candidate for finding in result.findings), *(drop.candidate for drop in listed)]
    columns = [name for name in SCORES if any(name in candidate.scores for candidate in candidates)]
    names = {name: SHORT_NAMES.get(name, name) for name in columns}
    shown.print(f"   {_row(names, names)} {'final':>5}", style="bold", soft_wrap=True)
    for place, finding in enumerate(result.findings, start=1):
        shown.print(_fitted(shown, f"{place:>2}. ", one_line(finding.passage.place)), soft_wrap=True)
        shown.print(f"   {_numbers(finding.candidate, names)}", style="cyan", soft_wrap=True)
    for drop in listed:
        why = f"  ({drop.stage}: {one_line(drop.reason)})"
        shown.print(_fitted(shown, " -  ", one_line(drop.place or drop.candidate.id), why), style="dim", soft_wrap=True)
        shown.print(f"   {_numbers(drop.candidate, names)}", style="dim", soft_wrap=True)
    if hidden := len(cut[FEW_DROPPED:]):
        shown.print(f"{hidden} more beyond the first {result.query.top_k}; --json names each", style="dim")
    timings = "  ".join(f"{stage} {ms:.1f}" for stage, ms in result.timings_ms.items())
    for line in (f"milliseconds (rankings is dense, words and code together): {timings}", *result.notes):
        _print(shown, Text(one_line(line), style="dim"))


def _fitted(shown: Console, mark: str, place: str, remark: str = "") -> Text:
    """A line with a place; of one too long for the terminal, its end."""
    room = max(MIN_PLACE, shown.width - len(mark) - len(remark))
    is_long = shown.is_terminal and len(place) > room
    return Text(f"{mark}{ELLIPSIS + place[1 - room :] if is_long else place}{remark}")


def _numbers(candidate: Candidate, names: Mapping[str, str]) -> str:
    """`place score` for each ranking, then the score of each stage behind them, then the last one."""
    cells = {name: f"{score:.{3 if score < 10 else 2}f}" for name, score in candidate.scores.items()}
    cells |= {name: f"{rank} {cells[name]}" for name, rank in candidate.ranks.items() if name in cells}
    return f"{_row(names, cells)} {candidate.score:>5.3f}"


def _row(names: Mapping[str, str], cells: Mapping[str, str]) -> str:
    """The cells below their headers: wider ones for the rankings, whose scores have a place in front."""
    widths = {name: 9 if name in RANKINGS else max(5, len(header)) for name, header in names.items()}
    return " ".join(f"{cells.get(name, '-'):>{width}}" for name, width in widths.items())
