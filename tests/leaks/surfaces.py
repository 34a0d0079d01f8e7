"""Every method and command that shows something of a library, for the leak suite to ask.

A new one gets a line in SURFACES, or in EXEMPT with a reason: tests/fences/test_surfaces.py compares both with the
methods, commands and options that exist.
"""

import contextlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from citewise.api import Library, LibraryView, QueryOptions
from citewise.cli.main import app
from citewise.cli.results import answer_json, search_json
from citewise.errors import CitewiseError
from citewise.model.answer import AnswerEvent, Done, Token
from citewise.model.query import Selection
from citewise.model.ranking import SearchResult
from citewise.settings import PREFIX, Settings
from tests.leaks.judge import Output, Request

PAGE_SIZE = 3  # hits: few, so that there are several pages
# Drawn at random: its letters may look like a marker.
_CURSOR = re.compile(r'(?:--cursor |"next_cursor": ")[A-Za-z0-9_-]{22,}')
_TOTAL = re.compile(r'of (\d+) candidates|"total_candidates": (\d+)')

EXEMPT: Mapping[str, str] = {
    "Library.ingest": "for the operator: it writes, and reports on the files that it was given",
    "Library.ingest_events": "as ingest",
    "Library.ingest_source": "as ingest",
    "Library.ingest_source_events": "as ingest",
    "Library.watch": "as ingest",
    "Library.access": "for the operator: the rules of a document",
    "Library.status": "for the operator: counts of the whole library",
    "Library.doctor": "for the operator: the state of files and models",
    "Library.reindex_events": "for the operator: it rebuilds, and gives numbers of chunks",
    "Library.reindex": "for the operator: it rebuilds, and returns a number of chunks",
    "Library.compact": "for the operator: it rewrites files, and returns sizes",
    "Library.close": "shows nothing",
    "Library.as_owner": "returns a view, whose methods are asked",
    "Library.as_principal": "returns a view, whose methods are asked",
    "citewise ingest": "for the operator: it writes, and reports on the files given; --user only completes a rule",
    "citewise access": "for the operator: the rules of a document",
    "citewise status": "for the operator: counts of the whole library",
    "citewise doctor": "for the operator: the state of files and models",
    "citewise reindex": "for the operator: it rebuilds, and prints a number of chunks",
    "citewise compact": "for the operator: it rewrites files, and prints sizes",
    "citewise demo": "ingests the public sample handbook",
    "citewise eval compare": "reads two run files and no library",
}
EXEMPT_OPTIONS: Mapping[str, str] = {
    "--budget": "shows less",
    "--compress": "shows less",
    "--cursor": "a later page: Library.search is asked for all pages",
    "--fail-under": "a threshold for numbers that are shown without it",
    "--no-answers": "shows less",
    "--out": "writes what --json prints",
    "--worst": "shows less than --json",
}


@dataclass(frozen=True, slots=True)
class OpenedLibrary:
    """A library open for Python, and the settings with which commands open it."""

    library: Library
    settings: Settings

    @property
    def home(self) -> Path:
        return self.settings.library.parent

    @property
    def config(self) -> Path:
        return self.home / "citewise.toml"

    def write_config(self) -> None:
        """The settings file for commands, whatever the machine's own settings are."""
        rules = self.settings.ingest.access_by_path.items()
        by_path = "".join(f"{json.dumps(path)} = {json.dumps(list(some))}\n" for path, some in rules)
        log = f"[query_log]\ntext = {json.dumps(self.settings.query_log.text)}\n"
        text = f"cache = {json.dumps(str(self.settings.cache))}\n{log}[ingest.access_by_path]\n{by_path}"
        self.config.write_text(text, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Surface:
    """One way to read from a library, and the public method or command that it covers."""

    name: str
    covers: str
    show: Callable[[OpenedLibrary, Request], Output | None]  # None: this reader cannot use it
    is_quick: bool = True  # uses the open library: it can be asked often, from several threads
    is_about_selection: bool = False  # shows nothing of the library to anybody


# Python


def options_of(request: Request) -> QueryOptions:
    """Every option of a question."""
    return QueryOptions(
        top_k=request.top_k,
        filters=tuple(map(str, request.filters)),
        rerank=request.is_deep,
        expand_graph=request.is_deep,
        half_life_days=30.0,
        freshness_weight=0.5,
        budget_tokens=1_500,
        compress=request.is_deep,
    )


def view_of(library: Library, request: Request) -> LibraryView:
    return library.as_principal(request.principal, request.scope)


def _python(name: str, covers: str, show: Callable[[Library, Request], Output], *, selection: bool = False) -> Surface:
    """A surface of the Python API; the text of an error is output as well."""

    def shown(opened: OpenedLibrary, request: Request) -> Output:
        try:
            return show(opened.library, request)
        except CitewiseError as error:
            return Output(str(error), is_error=True)

    return Surface(name, covers, shown, is_about_selection=selection)


def _search(library: Library, request: Request) -> Output:
    result = view_of(library, request).search(request.question, **options_of(request))
    return _of_result(f"{result!r}\n{json.dumps(search_json(result, explain=True))}", result)


def _search_again(library: Library, request: Request) -> Output:
    """After the owner asked the same, and a second time: the cache may answer with the reader's own result only."""
    question, options = f"Once more: {request.question}", options_of(request)
    view = view_of(library, request)
    for asker in (library.as_owner(request.scope), view):
        asker.search(question, **options)
    result = view.search(question, **options)
    return _of_result(repr(result), result)


def _search_pages(library: Library, request: Request) -> Output:
    """Page after page, through everything the reader may see."""
    options = options_of(request)
    pages = [view_of(library, request).search(request.question, limit=PAGE_SIZE, **options)]
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(view_of(library, request).search(request.question, limit=PAGE_SIZE, cursor=cursor, **options))
    findings = tuple(finding for page in pages for finding in page.findings)
    dropped = tuple(candidate for page in pages for candidate in page.dropped)
    text = repr([replace(page, next_cursor=None) for page in pages])
    return _of_result(text, replace(pages[-1], findings=findings, dropped=dropped))


def _ask(library: Library, request: Request) -> Output:
    answer = view_of(library, request).ask(request.question, **options_of(request))
    return _of_result(f"{answer!r}\n{json.dumps(answer_json(answer, explain=True))}", answer.result)


def _stream(library: Library, request: Request) -> Output:
    events = list(view_of(library, request).stream(request.question, **options_of(request)))
    done = next(event for event in events if isinstance(event, Done))
    return _of_result(_streamed(events), done.answer.result)


def _streamed(events: Sequence[AnswerEvent]) -> str:
    """All events, and the text as a reader sees it: a marker may be split between two tokens."""
    text = "".join(event.text for event in events if isinstance(event, Token))
    return f"{text}\n{events!r}"


def _ask_selected(library: Library, request: Request) -> Output:
    answer = view_of(library, request).ask(request.question, selection=_selected(request), **_unfiltered(request))
    return Output(f"{answer!r}\n{json.dumps(answer_json(answer, explain=True))}")


def _stream_selected(library: Library, request: Request) -> Output:
    events = list(
        view_of(library, request).stream(request.question, selection=_selected(request), **_unfiltered(request))
    )
    return Output(_streamed(events))


def _selected(request: Request) -> Selection | str:
    return Selection(request.selection, request.selected_from) if request.selected_from else request.selection


def _unfiltered(request: Request) -> QueryOptions:
    options = options_of(request)
    options["filters"] = ()
    return options


def _documents(library: Library, request: Request) -> Output:
    """Every document that the reader may see, and one that may be anybody's, with its chunks."""
    view, path = view_of(library, request), request.selected_from
    listed = view.documents(limit=500)
    read = [view.document(path) for path in (*(document.path for document in listed[:2]), path)]
    known = [document for document in read if document is not None]
    return Output(f"{listed!r}\n{known!r}\n{view.chunks(path)!r}")


def _log(library: Library, request: Request) -> Output:
    return Output(repr(view_of(library, request).log(limit=100)))


def _stats(library: Library, request: Request) -> Output:
    return Output(repr(view_of(library, request).stats()))


def _of_result(text: str, result: SearchResult) -> Output:
    candidates = [*(finding.candidate for finding in result.findings), *(drop.candidate for drop in result.dropped)]
    names = sorted({name for candidate in candidates for name in candidate.ranks})
    ranks = {name: tuple(each.ranks[name] for each in candidates if name in each.ranks) for name in names}
    scores = tuple((finding.candidate.id, finding.score) for finding in result.findings)
    return Output(text, result.total_candidates, ranks, scores)


# Commands, run in this process


def words_of(opened: OpenedLibrary, command: str, request: Request, *flags: str) -> list[str]:
    """The command line that asks the same; a reader without a name cannot use commands."""
    words = [*command.split(), "--library", str(opened.settings.library), "--config", str(opened.config)]
    words += ["--tenant", request.scope.tenant, "--project", request.scope.project, *flags]
    words += [] if request.reader.user is None else ["--user", request.reader.user]
    return words + [word for group in sorted(request.reader.groups) for word in ("--group", group)]


def question_flags(request: Request) -> list[str]:
    filters = [word for condition in request.filters for word in ("--filter", str(condition))]
    switches = [] if request.is_deep else ["--no-rerank", "--expand-graph"]
    return [request.question, "--top-k", str(request.top_k), "--limit", "7", *filters, *switches]


def _command(name: str, *flags: str, takes_question: bool = True) -> Surface:
    def show(opened: OpenedLibrary, request: Request) -> Output | None:
        question = question_flags(request) if takes_question else ["--since", "1d"]
        output = _printed(opened, name, request, *question, *flags)
        return output if takes_question else output and replace(output, total=None)  # the log counts other questions

    return Surface(f"citewise {' '.join((name, *flags))}", f"citewise {name}", show, is_quick=False)


def _selection_command(*flags: str) -> Surface:
    def show(opened: OpenedLibrary, request: Request) -> Output | None:
        file = opened.home / "selection.txt"
        file.write_text(request.selection, encoding="utf-8")
        source = ("--source-document", request.selected_from, "--source-section", "Tides")
        chosen = [*question_flags(request), "--selection-file", str(file), *(source if request.selected_from else ())]
        output = _printed(opened, "ask", request, *chosen, *flags)
        return output and replace(output, total=None)

    name = f"citewise ask --selection-file {' '.join(flags)}"
    return Surface(name, "citewise ask", show, is_quick=False, is_about_selection=True)


def _plot_command(opened: OpenedLibrary, request: Request) -> Output | None:
    page = opened.home / "plot.html"
    output = _printed(opened, "stats", request, "--since", "1d", "--plot", str(page))
    return output and replace(output, text=f"{output.text}\n{page.read_text(encoding='utf-8')}")


def _eval_command(opened: OpenedLibrary, request: Request, *, name: str) -> Output | None:
    """The question in a file that expects what the reader finds first, or no answer if nothing is found."""
    seen = view_of(opened.library, request).search(request.question, top_k=1)
    expected = [{"doc": finding.passage.document} for finding in seen.findings]
    case = {"id": "q-1", "question": request.question, **({"relevant": expected} if expected else {"kind": "asked"})}
    file, page = opened.home / "questions.json", opened.home / "report.html"
    file.write_text(json.dumps([case]), encoding="utf-8")
    page.unlink(missing_ok=True)
    output = _printed(opened, name, request, str(file), "--json", "--report", str(page))
    report = page.read_text(encoding="utf-8") if page.exists() else ""
    return output and Output(f"{output.text}\n{report}", is_error=output.is_error and bool(expected))


def _printed(opened: OpenedLibrary, command: str, request: Request, *flags: str) -> Output | None:
    """What a command prints on both streams."""
    if request.reader.is_anonymous:
        return None
    out, is_error = io.StringIO(), False
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), _without_our_variables():
        try:
            app.main(args=words_of(opened, command, request, *flags), standalone_mode=False)
        except CitewiseError as error:
            out.write(f"citewise: {error}\n")
            is_error = True
    text = _CURSOR.sub("", out.getvalue())
    total = _TOTAL.search(out.getvalue())
    return Output(text, int(total[1] or total[2]) if total else None, is_error=is_error)


@contextmanager
def _without_our_variables() -> Iterator[None]:
    ours = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    for name in ours:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(ours)


SURFACES: tuple[Surface, ...] = (
    _python("Library.search", "LibraryView.search", _search),
    _python("Library.search, asked again", "LibraryView.search", _search_again),
    _python("Library.search, page by page", "LibraryView.search", _search_pages),
    _python("Library.documents", "LibraryView.documents", _documents),
    _python("Library.document", "LibraryView.document", _documents),
    _python("Library.chunks", "LibraryView.chunks", _documents),
    _python("Library.log", "LibraryView.log", _log),
    _python("Library.stats", "LibraryView.stats", _stats),
    _python("Library.ask", "LibraryView.ask", _ask),
    _python("Library.stream", "LibraryView.stream", _stream),
    _python("Library.ask about a selection", "LibraryView.ask", _ask_selected, selection=True),
    _python("Library.stream about a selection", "LibraryView.stream", _stream_selected, selection=True),
    _command("search"),
    _command("search", "--explain"),
    _command("search", "--json", "--explain"),
    _command("ask"),
    _command("ask", "--explain"),
    _command("ask", "--json", "--explain"),
    _selection_command("--explain"),
    _selection_command("--json", "--explain"),
    _command("log", "--limit", "50", takes_question=False),
    _command("log", "--json", takes_question=False),
    _command("stats", takes_question=False),
    _command("stats", "--json", takes_question=False),
    Surface("citewise stats --plot", "citewise stats", _plot_command, is_quick=False),
    Surface("citewise eval", "citewise eval", partial(_eval_command, name="eval"), is_quick=False),
    Surface("citewise eval ablate", "citewise eval ablate", partial(_eval_command, name="eval ablate"), is_quick=False),
)
