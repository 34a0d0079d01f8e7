"""Flags that several commands share, and the settings that they lead to."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
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


def settings_of(library: Path | None, config: Path | None) -> "Settings":
    """The settings from file and environment; the library that was named wins."""
    from dataclasses import replace

    from citewise.settings import read_settings

    settings = read_settings(config, os.environ)
    return settings if library is None else replace(settings, library=library)
