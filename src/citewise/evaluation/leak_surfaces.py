"""Every surface that shows something of a library to somebody, for the leak suite to ask.

Whoever adds a way to look into a library adds a line to SURFACES (a command: to leak_commands.py), or to EXEMPT with a
reason: tests/fences/test_surfaces.py holds both against the methods, commands and options that there are.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypedDict

from citewise.api import Library, QueryOptions
from citewise.cli.json_output import answer_json, search_json
from citewise.errors import CitewiseError
from citewise.evaluation.leak_commands import COMMANDS, CONFIG, Desk, Registered, principal_of
from citewise.evaluation.leaking import Surface
from citewise.evaluation.leaks import Asking, Shown
from citewise.model.access import LOCAL_PRINCIPAL, Principal, Scope
from citewise.model.answer import Answer, AnswerEvent, Done, Token
from citewise.model.query import Selection
from citewise.model.ranking import Candidate, SearchResult
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding

PAGE = 3  # hits: few, so that there are pages

EXEMPT: Mapping[str, str] = {
    "Library.ingest": "the operator's: it writes, and reports on the files that it was given",
    "Library.status": "the operator's: counts of the whole library, for whoever holds its folder",
    "Library.doctor": "the operator's: the state of files and models",
    "Library.reindex": "the operator's: it rebuilds, and gives a number of chunks",
    "Library.compact": "the operator's: it rewrites files, and gives sizes",
    "Library.close": "shows nothing",
    "citewise ingest": "the operator's: it writes, and reports on the files that it was given; --user spells a rule",
    "citewise status": "the operator's: counts of the whole library, for whoever holds its folder",
    "citewise doctor": "the operator's: the state of files and models",
    "citewise reindex": "the operator's: it rebuilds, and gives a number of chunks",
    "citewise compact": "the operator's: it rewrites files, and gives sizes",
    "citewise demo": "ingests the sample handbook, which is everybody's",
    "citewise eval compare": "the operator's: two runs that were written before, and no library",
    "citewise eval leaks": "makes a library of its own",
}
EXEMPT_OPTIONS: Mapping[str, str] = {
    "--budget": "shows less",
    "--compress": "shows less",
    "--cursor": "a page behind the first: the same pages are leafed through by Library.search",
    "--fail-under": "a threshold for numbers that are shown without it",
    "--no-answers": "shows less",
    "--report": "draws what --json has",
    "--worst": "shows less than --json",
}


@contextmanager
def every_surface(settings: Settings, embedding: Embedding) -> Iterator[Sequence[Surface]]:
    """All of them, before one library."""
    with _surfaces(SURFACES, settings, embedding) as surfaces:
        yield surfaces


@contextmanager
def quick_surfaces(settings: Settings, embedding: Embedding) -> Iterator[Sequence[Surface]]:
    """Those that programs ask: they take any embedding, while commands take the one that settings name."""
    with _surfaces([one for one in SURFACES if one.is_quick], settings, embedding) as surfaces:
        yield surfaces


@contextmanager
def _surfaces(
    registered: Iterable[Registered], settings: Settings, embedding: Embedding
) -> Iterator[Sequence[Surface]]:
    with Library(settings=settings, embedding=embedding) as library:
        desk = Desk(library, settings)
        _write_config(desk)
        yield [Surface(one.name, partial(one.show, desk), one.is_quick, one.is_about_selection) for one in registered]


def _write_config(desk: Desk) -> None:
    """The settings that a command needs to open this library, whatever the machine's own are."""
    rules = "".join(f"{json.dumps(path)} = {json.dumps(some)}\n" for path, some in _by_path(desk.settings).items())
    log = f"[query_log]\ntext = {json.dumps(desk.settings.query_log.text)}\n"
    text = f"cache = {json.dumps(str(desk.settings.cache))}\n{log}[ingest.access_by_path]\n{rules}"
    (desk.home / CONFIG).write_text(text, encoding="utf-8")


def _by_path(settings: Settings) -> Mapping[str, list[str]]:
    return {path: list(rules) for path, rules in settings.ingest.access_by_path.items()}


# Programs


def options_of(asking: Asking) -> QueryOptions:
    """All that may be said of a question."""
    return QueryOptions(
        top_k=asking.top_k,
        filters=tuple(map(str, asking.filters)),
        scope=Scope(*asking.place),
        principal=principal_of(asking),
        rerank=asking.is_deep,
        expand_graph=asking.is_deep,
        half_life_days=30.0,
        freshness_weight=0.5,
        budget_tokens=1_500,
        compress=asking.is_deep,
    )


def _search(desk: Desk, asking: Asking) -> Shown:
    with _said_errors() as said:
        result = desk.library.search(asking.question, **options_of(asking))
        return _of_result(repr(result), result)
    return Shown("".join(said), is_refused=True)


def _search_shape(desk: Desk, asking: Asking) -> Shown:
    with _said_errors() as said:
        result = desk.library.search(asking.question, **options_of(asking))
        return _of_result(json.dumps(search_json(result, explain=True)), result)
    return Shown("".join(said), is_refused=True)


def _asked_again(desk: Desk, asking: Asking) -> Shown:
    """After the library's owner has asked the same, and once more: a memory may answer, if it is the asker's own."""
    with _said_errors() as said:
        question, options = f"Once more: {asking.question}", options_of(asking)
        owned = options.copy()
        owned["principal"] = LOCAL_PRINCIPAL
        for one in (owned, options):
            desk.library.search(question, **one)
        result = desk.library.search(question, **options)
        return _of_result(repr(result), result)
    return Shown("".join(said), is_refused=True)


def _pages(desk: Desk, asking: Asking) -> Shown:
    """Page after page, through everything that may be seen."""
    with _said_errors() as said:
        options = options_of(asking)
        pages = [desk.library.search(asking.question, limit=PAGE, **options)]
        while (cursor := pages[-1].next_cursor) is not None:
            pages.append(desk.library.search(asking.question, limit=PAGE, cursor=cursor, **options))
        findings = tuple(one for page in pages for one in page.findings)
        dropped = tuple(one for page in pages for one in page.dropped)
        text = repr([replace(page, next_cursor=None) for page in pages])  # its letters are drawn by chance
        return _of_result(text, replace(pages[-1], findings=findings, dropped=dropped))
    return Shown("".join(said), is_refused=True)


def _log(desk: Desk, asking: Asking) -> Shown:
    return Shown(repr(desk.library.log(limit=100, **_as(asking))))


def _stats(desk: Desk, asking: Asking) -> Shown:
    return Shown(repr(desk.library.stats(**_as(asking))))


def _topics(desk: Desk, asking: Asking) -> Shown:
    return Shown(repr(desk.library.topics(limit=50, **_as(asking))))


class _As(TypedDict):
    scope: Scope
    principal: Principal


def _as(asking: Asking) -> _As:
    return {"scope": Scope(*asking.place), "principal": options_of(asking)["principal"]}


def _ask(desk: Desk, asking: Asking) -> Shown:
    with _said_errors() as said:
        answer = desk.library.ask(asking.question, **options_of(asking))
        return _of_result(repr(answer), answer.result)
    return Shown("".join(said), is_refused=True)


def _answer_shape(desk: Desk, asking: Asking) -> Shown:
    with _said_errors() as said:
        answer = desk.library.ask(asking.question, **options_of(asking))
        return _of_result(json.dumps(answer_json(answer, explain=True)), answer.result)
    return Shown("".join(said), is_refused=True)


def _stream(desk: Desk, asking: Asking) -> Shown:
    with _said_errors() as said:
        events = list(desk.library.stream(asking.question, **options_of(asking)))
        done = next(event for event in events if isinstance(event, Done))
        return _of_result(_streamed(events), done.answer.result)
    return Shown("".join(said), is_refused=True)


def _streamed(events: Sequence[AnswerEvent]) -> str:
    """Everything in them, and the text as it is read: a mark may be cut in two where one piece of it ends."""
    text = "".join(event.text for event in events if isinstance(event, Token))
    return f"{text}\n{events!r}"


def _ask_selected(desk: Desk, asking: Asking) -> Shown:
    answer: Answer = desk.library.ask(asking.question, selection=_selected(asking), **_unfiltered(asking))
    return Shown(f"{answer!r}\n{json.dumps(answer_json(answer, explain=True))}")


def _stream_selected(desk: Desk, asking: Asking) -> Shown:
    events = list(desk.library.stream(asking.question, selection=_selected(asking), **_unfiltered(asking)))
    return Shown(_streamed(events))


def _selected(asking: Asking) -> Selection | str:
    """With where it was selected, or as bare text: programs may give either."""
    return Selection(asking.selection, asking.selected_from) if asking.selected_from else asking.selection


def _unfiltered(asking: Asking) -> QueryOptions:
    options = options_of(asking)
    options["filters"] = ()
    return options


@contextmanager
def _said_errors() -> Iterator[list[str]]:
    """What an error says is shown, too."""
    said: list[str] = []
    try:
        yield said
    except CitewiseError as error:
        said.append(str(error))


def _of_result(text: str, result: SearchResult) -> Shown:
    candidates = [*(one.candidate for one in result.findings), *(one.candidate for one in result.dropped)]
    scores = tuple((one.candidate.id, one.score) for one in result.findings)
    return Shown(text, result.total_candidates, _ranks(candidates), scores)


def _ranks(candidates: Sequence[Candidate]) -> Mapping[str, tuple[int, ...]]:
    arms = {arm for one in candidates for arm in one.ranks}
    return {arm: tuple(one.ranks[arm] for one in candidates if arm in one.ranks) for arm in sorted(arms)}


SURFACES: tuple[Registered, ...] = (
    Registered("Library.search", "Library.search", _search),
    Registered("search as JSON", "Library.search", _search_shape),
    Registered("Library.search, asked again", "Library.search", _asked_again),
    Registered("Library.search, page by page", "Library.search", _pages),
    Registered("Library.log", "Library.log", _log),
    Registered("Library.stats", "Library.stats", _stats),
    Registered("Library.topics", "Library.topics", _topics),
    Registered("Library.ask", "Library.ask", _ask),
    Registered("answer as JSON", "Library.ask", _answer_shape),
    Registered("Library.stream", "Library.stream", _stream),
    Registered("Library.ask of a selection", "Library.ask", _ask_selected, is_about_selection=True),
    Registered("Library.stream of a selection", "Library.stream", _stream_selected, is_about_selection=True),
    *COMMANDS,
)
