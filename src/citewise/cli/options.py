"""The group of all commands, and the flags that several of them share.

A command is a function in the module of its subject: its flags above it, its work in its body. Help and usage errors
import all of these modules, so a module imports what is heavy inside its functions.
"""

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from citewise.api import Library, LibraryView, QueryOptions
    from citewise.model.access import Principal, Scope
    from citewise.settings import Settings

_Command = Callable[..., int | None]  # returns the exit code; None is 0


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are needed, not in that of the alphabet."""
        asked = ["ingest", "search", "ask", "access", "log", "stats"]
        return [*asked, "status", "doctor", "reindex", "compact", "demo", "eval"]


_version_option = click.version_option(
    package_name="citewise", prog_name="citewise", message="%(prog)s %(version)s", help="Print the version and exit."
)
app = _version_option(_Commands(help="Ask your own documents and get answers that cite their sources."))


@dataclass(frozen=True)
class Session:
    """What the shared flags of a command say: which library, who asks, and how to print."""

    settings: "Settings"
    principal: "Principal"
    scope: "Scope"
    as_json: bool

    @functools.cached_property
    def library(self) -> "Library":
        from citewise.api import Library

        return Library(settings=self.settings)

    @property
    def view(self) -> "LibraryView":
        return self.library.as_principal(self.principal, self.scope)


class _GivenPath(click.ParamType[Path]):
    """A path that was really given: an empty one (an unset variable) would mean the current folder."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if value == "":
            self.fail("an empty path names nothing: write . for the current folder", param, ctx)
        return Path(value)


GIVEN_PATH = _GivenPath()
FILE = click.Path(path_type=Path)
_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON to standard output.")
_LIBRARY = click.Option(
    ["--library"], type=FILE, metavar="DIR", help="Library folder (default .citewise, or CITEWISE_LIBRARY)."
)
_CONFIG = click.Option(["--config"], type=FILE, metavar="FILE", help="Settings file (default citewise.toml here).")
_READER = (
    click.Option(["--tenant"], metavar="T", default="default", show_default=True, help="Tenant."),
    click.Option(["--project"], metavar="P", default="default", show_default=True, help="Project of the tenant."),
    click.Option(["--user"], metavar="U", help="User to run as (default: the owner of the library)."),
    click.Option(["--group", "groups"], metavar="G", multiple=True, help="Group of the user. Repeatable."),
)
_PASSAGES = (
    click.Option(["--top-k"], metavar="N", type=int, help="How many passages (1 to 1000)."),
    click.Option(
        ["--filter", "filters"],
        metavar="FIELD=VALUE",
        multiple=True,
        help="Only passages whose FIELD has VALUE; also FIELD>=N, FIELD<=N. Repeatable: one field's values are "
        "alternatives, different fields must all hold.",
    ),
)
_STAGES = (
    click.Option(["--explain"], is_flag=True, help="Show the score of each ranking and stage."),
    click.Option(["--no-rerank"], is_flag=True, help="Keep the fused order."),
    click.Option(["--expand-graph"], is_flag=True, help="Add neighboring services of the service graph."),
)


def library_options(command: _Command, *, library: click.Option = _LIBRARY) -> _Command:
    """`--library`, `--config` and `--json`: the command takes a `session`."""
    return _with_options(command, _session, [library], [_CONFIG, _JSON])


def scope_options(command: _Command) -> _Command:
    """The library's, and the scope that its owner means: the command takes a `session`."""
    return _with_options(command, _session, [_LIBRARY, *_READER[:2]], [_CONFIG, _JSON])


def reader_options(command: _Command) -> _Command:
    """The library's, and who asks: the command takes a `session`."""
    return _with_options(command, _session, [_LIBRARY, *_READER], [_CONFIG, _JSON])


def query_options(command: _Command) -> _Command:
    """The reader's, and what to find and how: the command takes a `session`, `options` and `explain`."""
    return _with_options(command, _query, [_LIBRARY, *_READER, *_PASSAGES], [*_STAGES, _CONFIG, _JSON])


def _with_options(
    command: _Command, read: Callable[..., dict[str, Any]], first: Sequence[click.Option], last: Sequence[click.Option]
) -> _Command:
    """The command with shared flags around its own; `read` turns all values into the arguments of the command."""

    @functools.wraps(command)
    def run(**values: Any) -> int | None:
        return command(**read(**values))

    params = vars(run).setdefault("__click_params__", [])  # where click's decorators put them, the last one first
    params[:] = [*reversed(last), *params, *reversed(first)]
    return run


def _session(
    *,
    library: Path | None,
    config: Path | None,
    as_json: bool,
    tenant: str = "default",
    project: str = "default",
    user: str | None = None,
    groups: Sequence[str] = (),
    **own: Any,
) -> dict[str, Any]:
    """The settings from file and environment; the library that was named wins."""
    from citewise.model.access import Scope
    from citewise.settings import Settings

    principal, scope = _principal(user, groups), Scope(tenant, project)
    settings = Settings.read(config, os.environ)
    if library is not None:
        settings = replace(settings, library=library)
    return {"session": Session(settings, principal, scope, as_json), **own}


def _principal(user: str | None, groups: Sequence[str]) -> "Principal":
    """Who asks; without a name, the library's owner."""
    from citewise.model.access import OWNER, Principal

    return OWNER if user is None and not groups else Principal(user, frozenset(groups))


def _query(
    *, top_k: int | None, filters: tuple[str, ...], no_rerank: bool, expand_graph: bool, **own: Any
) -> dict[str, Any]:
    options: QueryOptions = {"filters": filters, "rerank": not no_rerank, "expand_graph": expand_graph}
    if top_k is not None:
        options["top_k"] = top_k
    return {"options": options, **_session(**own)}
