"""What commands print alike: JSON, text that is safe to show, lists and tables, and files."""

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from citewise.errors import BadRequest
from citewise.text.sanitizing import begun_escape, without_escapes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

DECIMALS = 6
NOTHING_ASKED = "No queries in this period that you may see."
# They reverse the direction of writing, so a terminal must not get them, as it must not get control characters.
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def print_json(value: object) -> None:
    """One line of JSON, alone on standard output."""
    sys.stdout.write(json_line(value))
    sys.stdout.flush()


def json_line(value: object) -> str:
    """Numbers have at most six decimals."""
    rounded = json.loads(json.dumps(value), parse_float=lambda number: round(float(number), DECIMALS))
    return json.dumps(rounded, ensure_ascii=False) + "\n"


def instant(seconds: float) -> str:
    """In UTC, such as 2026-01-31T08:00:00Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def printable(text: str) -> str:
    """Text from a document without escapes, control characters, halves of surrogate pairs and changes of direction."""
    return "".join(
        character
        for character in without_escapes(text)
        if character in "\n\t" or (unicodedata.category(character) not in ("Cc", "Cs") and character not in _TURNS)
    )


def printable_start(text: str) -> tuple[str, str]:
    """The same of a text that goes on, and its end that must wait for the rest: an escape that has begun."""
    held = begun_escape(text)
    return printable(text.removesuffix(held)), held


def one_line(text: str, max_characters: int = sys.maxsize) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= max_characters else f"{line[: max_characters - 1].rstrip()}…"


def console(*, min_width: int = 0) -> "Console":
    """Standard output, which shows text as it is: no markup, no emoji names, no colored numbers.

    A terminal that is narrower than `min_width` wraps the lines of a table, since numbers that are cut off say nothing.
    """
    from rich.console import Console

    shown = Console(highlight=False, markup=False, emoji=False)
    shown.width = max(shown.width, min_width)
    return shown


def table(first: Sequence[str], numbers: Sequence[str], last: Sequence[str] = ()) -> "Table":
    """A table of columns with these names. Numbers are aligned to the right, and only the last columns wrap."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (*first, *numbers):
        table.add_column(name, justify="right" if name in numbers else "left", no_wrap=True)
    for name in last:
        table.add_column(name)
    return table


def show_figures(rows: Iterable[tuple[str, str]]) -> None:
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, figure in rows:
        table.add_row(name, printable(figure))
    console().print(table)


def show_list(title: str, lines: Sequence[str], *, style: str = "bold") -> None:
    """A title and the lines below it; nothing without lines."""
    shown = console()
    if lines:
        shown.print(title, style=style)
    for line in lines:
        shown.print(f"  {printable(line)}", soft_wrap=True)


def refuse_unwritable(*files: Path | None, read: Iterable[Path] = ()) -> None:
    """BadRequest for a file that cannot be written or that is also read: before an hour of work, not after it."""
    taken = [file.resolve() for file in read]
    for file in files:
        if file is None:
            continue
        if not file.parent.is_dir():
            raise BadRequest(f"cannot write {file}: there is no folder {file.parent}")
        if file.is_dir():
            raise BadRequest(f"cannot write {file}: it is a folder")
        if file.resolve() in taken:
            raise BadRequest(f"cannot write {file}: it is read or written already; name another file")
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise BadRequest(f"cannot write {file}: permission denied")
        taken.append(file.resolve())


def write_file(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8", errors="replace")
    except OSError as error:
        raise BadRequest(f"cannot write {file}: {error.strerror}") from error
