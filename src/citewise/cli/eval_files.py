"""Files that an evaluation leaves: named before it starts, written when it is done."""

import os
from collections.abc import Iterable
from pathlib import Path

from citewise.errors import BadRequest


def refuse_unwritable(*files: Path | None, read: Iterable[Path] = ()) -> None:
    """BadRequest for a file that could not be written, or that is read: said before an hour of work, not after it."""
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


def files_of(judged: Path) -> list[Path]:
    """What a set is read from; what cannot be looked at is told of by whoever reads it."""
    return [judged, *judged.glob("*"), *judged.glob("qrels/*")] if os.path.isdir(judged) else [judged]


def write_file(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8", errors="replace")
    except OSError as error:
        raise BadRequest(f"cannot write {file}: {error.strerror}") from error
