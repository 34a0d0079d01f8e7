"""`citewise search` and `citewise ask`: call, then show. A question about selected text may bring no store along."""

import shlex
import sys
from contextlib import closing
from typing import TYPE_CHECKING, BinaryIO

import click

from citewise.cli.options import Session, app, query_options
from citewise.cli.output import print_json, printable
from citewise.errors import BadData, BadRequest

if TYPE_CHECKING:
    from citewise.api import QueryOptions
    from citewise.model.answer import AnswerEvent
    from citewise.model.query import Selection
    from citewise.settings import Settings

MAX_REPEATED = 60  # characters of a question that is repeated in a command; a longer one is named
SHOWN_HITS = 5  # hits that fit a screen, unless --top-k or --limit says otherwise


@app.command("search")
@click.argument("question", metavar="QUERY", help="What to look for.")
@query_options
@click.option("--limit", metavar="N", type=int, help="Hits per page, at most 20.")
@click.option("--cursor", metavar="C", help="Cursor of the previous page.")
def _search(
    session: Session, question: str, options: "QueryOptions", *, limit: int | None, cursor: str | None, explain: bool
) -> None:
    """Find passages.

    Each hit has its path, lines, URL and score; --explain shows every ranking and stage.
    """
    with session.library:
        result = session.view.search(question, limit=limit, cursor=cursor, **options)
        from citewise.cli.results import search_json, show_next, show_search  # not before: the model loads sooner

        if session.as_json:
            print_json(search_json(result, explain=explain))
        else:
            is_short = limit is None and cursor is None and "top_k" not in options
            show_search(result, SHOWN_HITS if is_short else None, explain=explain)
            if not result.findings and cursor is None:
                show_next(_next(session))
        sys.stdout.flush()  # before the library closes, which waits for the log


@app.command("ask")
@click.argument("question", metavar="QUESTION", help="What to answer.")
@query_options
@click.option(
    "--selection-file",
    "file",
    metavar="F",
    type=click.File("rb"),
    help="Answer from this text alone; - is standard input.",
)
@click.option("--source-document", "document", metavar="D", help="Document the selection comes from.")
@click.option("--source-section", "section", metavar="S", help="Section heading it appears under.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="At most N sources.")
@click.option("--budget", metavar="N", type=int, help="Token budget for all sources.")
@click.option("--compress/--no-compress", default=None, help="Answer from fewer tokens of the sources.")
def _ask(
    session: Session,
    question: str,
    options: "QueryOptions",
    *,
    file: BinaryIO | None,
    document: str | None,
    section: str | None,
    limit: int | None,
    budget: int | None,
    compress: bool | None,
    explain: bool,
) -> None:
    """Answer a question, with citations.

    The answer comes from the library, or with --selection-file from that text alone.
    """
    from citewise.cli.results import AnswerStream, answer_json, show_answer, show_next
    from citewise.model.answer import Answer, Sources, Token

    if limit is not None:
        options["top_k"] = min(limit, options.get("top_k", limit))
    options["budget_tokens"] = budget
    options["compress"] = compress
    selection = _selection(file, document, section)
    seen: list[AnswerEvent] = []
    shown = None if session.as_json else AnswerStream()
    show_wait = _WaitNotice(session.settings)
    with session.library, closing(session.view.stream(question, selection=selection, **options)) as events:
        try:
            for event in events:
                seen.append(event)
                show_wait(is_waiting=isinstance(event, Sources))
                if isinstance(event, Token) and shown:
                    shown.write(event.text)
        finally:
            show_wait(is_waiting=False)
            if shown and any(isinstance(event, Token) for event in seen):
                shown.close()
        answer = Answer.of(seen)
        if session.as_json:
            print_json(answer_json(answer, explain=explain))
        else:
            is_wanted = session.settings.answer.compression != "none" if compress is None else compress
            has_saved = answer.usage.context_tokens_after < answer.usage.context_tokens_before
            show_answer(answer, is_compressed=is_wanted and has_saved, explain=explain)
            if selection is None and answer.outcome == "nothing":
                show_next(_next(session, question, is_found=answer.result.total_candidates > 0))
        sys.stdout.flush()  # before the library closes, which waits for the log


def _next(session: Session, question: str = "", *, is_found: bool = False) -> str:
    """What to do where nothing was found, or nothing that answers the question."""
    library = session.settings.library
    place = "" if library == type(session.settings)().library else f" --library {shlex.quote(str(library))}"
    if is_found:
        is_short = len(question) <= MAX_REPEATED and question.isprintable()
        return f"What comes nearest: citewise search {shlex.quote(question) if is_short else 'QUERY'}{place}"
    if session.library.status().documents:
        return f"What the library holds: citewise status{place}"
    return f"The library is empty: citewise ingest PATH{place} adds documents"


class _WaitNotice:
    """On a terminal, between the sources and the first word: which model is waited for, and how long at most."""

    def __init__(self, settings: "Settings") -> None:
        chosen, self._erase = settings.answer, ""
        is_shown = chosen.generator == "openai" and sys.stderr is not None and sys.stderr.isatty()
        notice = f"waiting for {printable(chosen.model)}, at most {chosen.timeout_seconds:.0f} s"
        self._notice = notice if is_shown else ""

    def __call__(self, *, is_waiting: bool) -> None:
        notice = self._notice if is_waiting else ""
        click.echo(self._erase + notice, nl=False, err=True)
        self._erase = notice and "\r\x1b[K"


def _selection(file: BinaryIO | None, document: str | None, section: str | None) -> "Selection | None":
    from citewise.model.query import MAX_SELECTED_CHARACTERS, Selection
    from citewise.text.encoding import decoded
    from citewise.text.sanitizing import without_escapes

    if file is None:
        if document is not None or section is not None:
            raise BadRequest(
                "--source-document and --source-section say where a selection stands: add --selection-file"
            )
        return None
    max_bytes = 4 * MAX_SELECTED_CHARACTERS  # what UTF-8 needs at most
    try:
        data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise BadRequest(f"the selection {file.name} is larger than {max_bytes:,} bytes: select less")
        return Selection(without_escapes(decoded(data)), document, section)  # whole, while ESC still marks them
    except (BadData, OSError) as error:
        raise BadRequest(f"cannot read the selection {file.name}: {error}") from error
