"""What every command prints the same way."""

import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from citewise.errors import BadRequest
from citewise.model.ranking import SearchResult

_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def print_json(value: object) -> None:
    """One line of JSON, alone on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """Text from a document as a terminal may have it: without the characters that would command it."""
    return "".join(one for one in text if one in "\n\t" or not _commands(one))


def _commands(character: str) -> bool:
    """Control characters, half surrogate pairs, and those that turn the direction of writing around."""
    return unicodedata.category(character) in ("Cc", "Cs") or character in _TURNS


def shown_warnings(result: SearchResult) -> None:
    """What should have worked and did not, on standard error."""
    for line in result.degraded:
        sys.stderr.write(f"citewise: degraded: {printable(line)}\n")


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
