"""Every surface that shows something of a library to somebody, for the leak suite to ask.

Whoever adds a way to look into a library adds a line to SURFACES, or to EXEMPT with a reason:
tests/fences/test_surfaces.py holds both against the methods, commands and options that there are.
"""

import contextlib
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from citewise.entry.api import Library, QueryOptions
from citewise.entry.shapes import answer_json, search_json
from citewise.evaluate.leaks import Asking, Shown
from citewise.model.answer import Answer, Done, Token
from citewise.model.errors import CitewiseError
from citewise.model.ranking import Candidate
from citewise.model.result import SearchResult
from citewise.model.scope import LOCAL_PRINCIPAL, Principal, Scope
from citewise.model.selection import Selection
from citewise.settings import PREFIX, Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.leaking import Surface

CONFIG = "citewise.toml"
SELECTION = "selection.txt"
_COUNTED = re.compile(r"of (\d+) candidates")

EXEMPT: Mapping[str, str] = {
    "Library.ingest": "the operator's: it writes, and reports on the files that it was given",
    "Library.status": "the operator's: counts of the whole library, for whoever holds its folder",
    "Library.doctor": "the operator's: the state of files and models",
    "Library.reindex": "the operator's: it rebuilds, and gives a number of chunks",
    "Library.close": "shows nothing",
    "citewise ingest": "the operator's: it writes, and reports on the files that it was given; --user spells a rule",
    "citewise status": "the operator's: counts of the whole library, for whoever holds its folder",
    "citewise doctor": "the operator's: the state of files and models",
    "citewise reindex": "the operator's: it rebuilds, and gives a number of chunks",
    "citewise demo": "ingests the sample handbook, which is everybody's",
    "citewise eval": "the operator's, and everything below it: his questions, asked as the library's owner",
}
EXEMPT_OPTIONS: Mapping[str, str] = {"--cursor": "no cursor was ever issued: whatever is given is refused"}


@dataclass(frozen=True, slots=True)
class Desk:
    """A library as its surfaces are asked: held open for programs, and in a folder for commands."""

    library: Library
    settings: Settings

    @property
    def home(self) -> Path:
        return self.settings.library.parent


@dataclass(frozen=True, slots=True)
class Registered:
    """A surface, and the public method or command that it asks."""

    name: str
    covers: str
    show: Callable[[Desk, Asking], Shown | None]
    is_quick: bool = True
    is_about_selection: bool = False


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
    text = f"cache = {json.dumps(str(desk.settings.cache))}\n[ingest.access_by_path]\n{rules}"
    (desk.home / CONFIG).write_text(text, encoding="utf-8")


def _by_path(settings: Settings) -> Mapping[str, list[str]]:
    return {path: list(rules) for path, rules in settings.ingest.access_by_path.items()}


# Programs


def options_of(asking: Asking) -> QueryOptions:
    """All that may be said of a question."""
    who = asking.who
    return QueryOptions(
        top_k=asking.top_k,
        filters=tuple(map(str, asking.filters)),
        scope=Scope(*asking.place),
        principal=LOCAL_PRINCIPAL if who.is_owner else Principal(who.user, who.groups),
        rerank=asking.is_deep,
        expand_graph=asking.is_deep,
        half_life_days=30.0,
        freshness_weight=0.5,
    )


def _search(desk: Desk, asking: Asking) -> Shown:
    with _said_errors() as said:
        result = desk.library.search(asking.question, **options_of(asking))
        return _of_result(repr(result), result)
    return Shown("".join(said), is_refused=True)


def _search_shape(desk: Desk, asking: Asking) -> Shown:
    with _said_errors() as said:
        result = desk.library.search(asking.question, **options_of(asking))
        return _of_result(json.dumps(search_json(result, limit=3, explain=True)), result)
    return Shown("".join(said), is_refused=True)


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
        text = "".join(event.text for event in events if isinstance(event, Token))
        done = next(event for event in events if isinstance(event, Done))
        return _of_result(f"{text}\n{events!r}", done.answer.result)
    return Shown("".join(said), is_refused=True)


def _ask_selected(desk: Desk, asking: Asking) -> Shown:
    selection = Selection(asking.selection, asking.selected_from)
    answer: Answer = desk.library.ask(asking.question, selection=selection, **_unfiltered(asking))
    return Shown(f"{answer!r}\n{json.dumps(answer_json(answer, explain=True))}")


def _stream_selected(desk: Desk, asking: Asking) -> Shown:
    return Shown(repr(list(desk.library.stream(asking.question, selection=asking.selection, **_unfiltered(asking)))))


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


# Commands


def words_of(desk: Desk, command: str, asking: Asking, *flags: str) -> list[str]:
    """The command line that asks the same."""
    who = asking.who
    words = [command, asking.question, "--library", str(desk.settings.library), "--config", str(desk.home / CONFIG)]
    words += ["--tenant", asking.place[0], "--project", asking.place[1], "--top-k", str(asking.top_k)]
    words += [] if who.user is None else ["--user", who.user]
    words += [word for group in sorted(who.groups) for word in ("--group", group)]
    words += [word for one in asking.filters for word in ("--filter", str(one))]
    return [*words, "--limit", "7", *([] if asking.is_deep else ["--no-rerank", "--expand-graph"]), *flags]


def _command(desk: Desk, asking: Asking, *, name: str, flags: Sequence[str] = ()) -> Shown | None:
    """What the command prints, on either stream. A stranger has no way to say so there: no name is the owner."""
    if asking.who.user is None and not asking.who.groups and not asking.who.is_owner:
        return None
    printed, is_refused = _printed(words_of(desk, name, asking, *flags))
    counted = _COUNTED.search(printed) or re.search(r'"total_candidates": (\d+)', printed)
    return Shown(printed, int(counted[1]) if counted else None, is_refused=is_refused)


def _ask_selected_command(desk: Desk, asking: Asking) -> Shown | None:
    file = desk.home / SELECTION
    file.write_text(asking.selection, encoding="utf-8")
    place = ("--source-document", asking.selected_from, "--source-section", "Tides")
    shown = _command(desk, asking, name="ask", flags=("--selection-file", str(file), *place, "--explain"))
    return None if shown is None else Shown(shown.text, is_refused=shown.is_refused)


def _printed(words: list[str]) -> tuple[str, bool]:
    """On both streams, and whether it was an error."""
    import typer

    from citewise.entry.cli.main import app

    out, is_refused = io.StringIO(), False
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), _without_our_variables():
        try:
            typer.main.get_command(app).main(args=words, standalone_mode=False)
        except CitewiseError as error:
            out.write(f"citewise: {error}\n")
            is_refused = True
    return out.getvalue(), is_refused


@contextmanager
def _without_our_variables() -> Iterator[None]:
    """The machine's own settings must not open another library, or this one otherwise."""
    ours = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    for name in ours:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(ours)


def _registered_command(name: str, *flags: str) -> Registered:
    said = " ".join(("citewise", name, *flags))
    return Registered(said, f"citewise {name}", partial(_command, name=name, flags=flags), is_quick=False)


SURFACES: tuple[Registered, ...] = (
    Registered("Library.search", "Library.search", _search),
    Registered("search as JSON", "Library.search", _search_shape),
    Registered("Library.ask", "Library.ask", _ask),
    Registered("answer as JSON", "Library.ask", _answer_shape),
    Registered("Library.stream", "Library.stream", _stream),
    Registered("Library.ask of a selection", "Library.ask", _ask_selected, is_about_selection=True),
    Registered("Library.stream of a selection", "Library.stream", _stream_selected, is_about_selection=True),
    _registered_command("search"),
    _registered_command("search", "--explain"),
    _registered_command("search", "--json", "--explain"),
    _registered_command("ask"),
    _registered_command("ask", "--explain"),
    _registered_command("ask", "--json", "--explain"),
    Registered(
        "citewise ask --selection-file", "citewise ask", _ask_selected_command, is_quick=False, is_about_selection=True
    ),
)
