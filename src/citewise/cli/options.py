"""Flags that several commands share, and what they mean: settings, who asks, and options of a question.

Every command reads its flags from here, so what is heavy is imported inside the functions: help must be quick.
"""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from citewise.api import Library, LibraryView, QueryOptions
    from citewise.model.access import Principal, Scope
    from citewise.settings import Settings

LibraryOption = Annotated[
    Path | None,
    typer.Option("--library", metavar="DIR", help="Library folder (default .citewise, or CITEWISE_LIBRARY)."),
]
DemoLibraryOption = Annotated[Path, typer.Option("--library", metavar="DIR", help="Library folder.")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings file (default citewise.toml here).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]
TenantOption = Annotated[str, typer.Option("--tenant", metavar="T", help="Tenant.")]
UserOption = Annotated[
    str | None, typer.Option("--user", metavar="U", help="User to run as (default: the owner of the library).")
]
GroupOption = Annotated[list[str] | None, typer.Option("--group", metavar="G", help="Group of the user. Repeatable.")]
ProjectOption = Annotated[str, typer.Option("--project", metavar="P", help="Project of the tenant.")]
TopKOption = Annotated[int | None, typer.Option("--top-k", metavar="N", help="How many passages (1 to 1000).")]
FilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="FIELD=VALUE",
        help="Only passages whose FIELD has VALUE; also FIELD>=N, FIELD<=N. Repeatable: one field's values are "
        "alternatives, different fields must all hold.",
    ),
]
CursorOption = Annotated[str | None, typer.Option("--cursor", metavar="C", help="Cursor of the previous page.")]
SinceOption = Annotated[
    str, typer.Option("--since", metavar="WHEN", help="30m, 24h, 7d or 4w ago, or a date such as 2026-01-31 (UTC).")
]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Show the score of each ranking and stage.")]
NoRerankOption = Annotated[bool, typer.Option("--no-rerank", help="Keep the fused order.")]
GraphOption = Annotated[bool, typer.Option("--expand-graph", help="Add neighboring services of the service graph.")]


AccessOption = Annotated[
    list[str] | None,
    typer.Option(
        "--access",
        help="Who may read: public, project, owner:USER, group:GROUP; owner alone is --user, "
        "group alone is each --group. Repeatable.",
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option(
        "--name", help="Name of the source; the paths of its documents start with it ('.': the first source)."
    ),
]
_ONLY = "Ingest only files that match; needed for hidden and vendored folders. Repeatable."
IncludeOption = Annotated[list[str] | None, typer.Option("--include", metavar="GLOB", help=_ONLY)]
_SKIP = "Skip files that match, and remove them from the library. Repeatable."
ExcludeOption = Annotated[list[str] | None, typer.Option("--exclude", metavar="GLOB", help=_SKIP)]


def settings_of(library: Path | None, config: Path | None) -> "Settings":
    """The settings from file and environment; the library that was named wins."""
    from citewise.settings import Settings

    settings = Settings.read(config, os.environ)
    return settings if library is None else replace(settings, library=library)


def with_ingest_flags(
    settings: "Settings", include: list[str] | None, exclude: list[str] | None, max_file_mb: float | None
) -> "Settings":
    """What the command line says about files wins over what the settings say."""
    rules = settings.ingest
    changes = {
        "include": include or rules.include,
        "exclude": (*rules.exclude, *(exclude or ())),
        "max_file_mb": max_file_mb or rules.max_file_mb,
    }
    return settings.changed(ingest=changes)


def named_path(text: str) -> Path:
    """A path that was really given: an empty one (an unset variable) would mean the current folder."""
    from citewise.errors import BadRequest

    if not text:
        raise BadRequest("an empty path names nothing: write . for the current folder")
    return Path(text)


def named_readers(rules: Iterable[str], user: str | None, groups: Iterable[str]) -> tuple[str, ...]:
    """Access rules with `owner` and `group` alone replaced by whom they mean."""
    meant = {"owner": (f"owner:{user}",) if user else (), "group": tuple(f"group:{group}" for group in groups)}
    return tuple(named for rule in rules for named in meant.get(rule) or (rule,))


class Caller(NamedTuple):
    """Who asks, and in which scope."""

    principal: "Principal"
    scope: "Scope"

    def view(self, library: "Library") -> "LibraryView":
        return library.as_principal(self.principal, self.scope)


def caller_of(tenant: str, project: str, user: str | None, groups: Iterable[str] | None) -> Caller:
    from citewise.model.access import Scope

    return Caller(principal_of(user, groups or ()), Scope(tenant, project))


def principal_of(user: str | None, groups: Iterable[str]) -> "Principal":
    """Who asks; without a name, the library's owner."""
    from citewise.model.access import OWNER, Principal

    named = frozenset(groups)
    return OWNER if user is None and not named else Principal(user, named)


def query_options(
    filters: Iterable[str] | None, top_k: int | None, *, rerank: bool, expand_graph: bool
) -> "QueryOptions":
    """What `search` and `ask` have in common."""
    options: QueryOptions = {"filters": tuple(filters or ()), "rerank": rerank, "expand_graph": expand_graph}
    if top_k is not None:
        options["top_k"] = top_k
    return options


def fewest(top_k: int | None, limit: int | None) -> int | None:
    """What both bounds leave; none if neither was given."""
    from citewise.errors import BadRequest

    if limit is not None and limit < 1:
        raise BadRequest(f"limit is {limit}; it is at least 1")
    return min((bound for bound in (top_k, limit) if bound is not None), default=None)
