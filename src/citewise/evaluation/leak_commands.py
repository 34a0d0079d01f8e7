"""The commands that show something of a library to somebody, as the leak suite runs them: in this process, with both
streams caught."""

import contextlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from citewise.api import Library
from citewise.errors import CitewiseError
from citewise.evaluation.leaks import Asking, Shown
from citewise.model.access import LOCAL_PRINCIPAL, Principal, Scope
from citewise.settings import PREFIX, Settings

CONFIG = "citewise.toml"
SELECTION = "selection.txt"
QUESTIONS = "questions.json"
PLOT = "plot.html"
_CURSOR = re.compile(r"[A-Za-z0-9_-]{112}")  # its letters are drawn by chance, and may begin as marks do
_COUNTED = re.compile(r"of (\d+) candidates")


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


def words_of(desk: Desk, command: str, asking: Asking, *flags: str) -> list[str]:
    """The command line that asks the same."""
    words = [command, asking.question, *_before(desk, asking), "--top-k", str(asking.top_k)]
    words += [word for one in asking.filters for word in ("--filter", str(one))]
    return [*words, "--limit", "7", *([] if asking.is_deep else ["--no-rerank", "--expand-graph"]), *flags]


def eval_words_of(desk: Desk, asking: Asking) -> list[str]:
    """The command line that evaluates with the asker's eyes."""
    return ["eval", str(desk.home / QUESTIONS), *_before(desk, asking), "--json"]


def ablate_words_of(desk: Desk, asking: Asking) -> list[str]:
    """The command line that takes the asker's search to pieces, and draws what each of them finds."""
    return ["eval", "ablate", *eval_words_of(desk, asking)[1:], "--report", str(desk.home / PLOT)]


def log_words_of(desk: Desk, command: str, asking: Asking, *flags: str) -> list[str]:
    """The command line that reads the log with the asker's eyes."""
    return [command, *_before(desk, asking), "--since", "1d", *flags]


def _before(desk: Desk, asking: Asking) -> list[str]:
    """Before which library who stands, and where in it."""
    who = asking.who
    words = ["--library", str(desk.settings.library), "--config", str(desk.home / CONFIG)]
    words += ["--tenant", asking.place[0], "--project", asking.place[1]]
    words += [] if who.user is None else ["--user", who.user]
    return words + [word for group in sorted(who.groups) for word in ("--group", group)]


def _command(desk: Desk, asking: Asking, *, name: str, flags: Sequence[str] = ()) -> Shown | None:
    """What the command prints, on either stream."""
    if _is_stranger(asking):
        return None
    printed, is_refused = _printed(words_of(desk, name, asking, *flags))
    counted = _COUNTED.search(printed) or re.search(r'"total_candidates": (\d+)', printed)
    return Shown(printed, int(counted[1]) if counted else None, is_refused=is_refused)


def _ask_selected_command(desk: Desk, asking: Asking, *, flags: Sequence[str]) -> Shown | None:
    file = desk.home / SELECTION
    file.write_text(asking.selection, encoding="utf-8")
    place = ("--source-document", asking.selected_from, "--source-section", "Tides") if asking.selected_from else ()
    shown = _command(desk, asking, name="ask", flags=("--selection-file", str(file), *place, *flags))
    return None if shown is None else Shown(shown.text, is_refused=shown.is_refused)


def _eval_command(desk: Desk, asking: Asking) -> Shown | None:
    """The question in a file that expects no answer: what was found and said is in the run all the same."""
    if _is_stranger(asking):
        return None
    case = {"id": "q-1", "question": asking.question, "kind": "asked"}
    (desk.home / QUESTIONS).write_text(json.dumps([case]), encoding="utf-8")
    printed, is_refused = _printed(eval_words_of(desk, asking))
    return Shown(printed, is_refused=is_refused)


def _ablate_command(desk: Desk, asking: Asking) -> Shown | None:
    """The question in a file that expects what the asker finds first; who finds nothing is told of no document."""
    if _is_stranger(asking):
        return None
    seen = desk.library.search(asking.question, top_k=1, scope=Scope(*asking.place), principal=principal_of(asking))
    document = seen.findings[0].passage.document if seen.findings else "nowhere.md"
    case = {"id": "q-1", "question": asking.question, "relevant": [{"doc": document}]}
    (desk.home / QUESTIONS).write_text(json.dumps([case]), encoding="utf-8")
    page = desk.home / PLOT
    page.unlink(missing_ok=True)
    printed, is_refused = _printed(ablate_words_of(desk, asking))
    drawn = page.read_text(encoding="utf-8") if page.exists() else ""
    return Shown(f"{printed}\n{drawn}", is_refused=is_refused and bool(seen.findings))


def _log_command(desk: Desk, asking: Asking, *, name: str, flags: Sequence[str]) -> Shown | None:
    if _is_stranger(asking):
        return None
    printed, is_refused = _printed(log_words_of(desk, name, asking, *flags))
    return Shown(printed, is_refused=is_refused)


def _plot_command(desk: Desk, asking: Asking) -> Shown | None:
    """What is printed, and the page that is drawn."""
    page = desk.home / PLOT
    shown = _log_command(desk, asking, name="stats", flags=("--plot", str(page)))
    return None if shown is None else replace(shown, text=f"{shown.text}\n{page.read_text(encoding='utf-8')}")


def principal_of(asking: Asking) -> Principal:
    who = asking.who
    return LOCAL_PRINCIPAL if who.is_owner else Principal(who.user, who.groups)


def _is_stranger(asking: Asking) -> bool:
    """Who has no way to say so to a command: no name is the owner there."""
    return asking.who.user is None and not asking.who.groups and not asking.who.is_owner


def _printed(words: list[str]) -> tuple[str, bool]:
    """On both streams, and whether it was an error."""
    import typer

    from citewise.cli.main import app

    out, is_refused = io.StringIO(), False
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), _without_our_variables():
        try:
            typer.main.get_command(app).main(args=words, standalone_mode=False)
        except CitewiseError as error:
            out.write(f"citewise: {error}\n")
            is_refused = True
    return _CURSOR.sub("", out.getvalue()), is_refused


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


def _registered_selection(*flags: str) -> Registered:
    said = " ".join(("citewise ask --selection-file", *flags))
    show = partial(_ask_selected_command, flags=flags)
    return Registered(said, "citewise ask", show, is_quick=False, is_about_selection=True)


def _registered_log(name: str, *flags: str) -> Registered:
    said = " ".join(("citewise", name, *flags))
    return Registered(said, f"citewise {name}", partial(_log_command, name=name, flags=flags), is_quick=False)


COMMANDS: tuple[Registered, ...] = (
    _registered_command("search"),
    _registered_command("search", "--explain"),
    _registered_command("search", "--json", "--explain"),
    _registered_command("ask"),
    _registered_command("ask", "--explain"),
    _registered_command("ask", "--json", "--explain"),
    _registered_selection("--explain"),
    _registered_selection("--json", "--explain"),
    _registered_log("log", "--limit", "50"),
    _registered_log("log", "--json"),
    _registered_log("stats"),
    _registered_log("stats", "--json"),
    Registered("citewise stats --plot", "citewise stats", _plot_command, is_quick=False),
    Registered("citewise eval", "citewise eval run", _eval_command, is_quick=False),
    Registered("citewise eval ablate", "citewise eval ablate", _ablate_command, is_quick=False),
)
