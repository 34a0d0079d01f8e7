"""Files that an evaluation leaves: named before it starts, written when it is done."""

from pathlib import Path

from citewise.model.errors import BadRequest


def refuse_unwritable(*files: Path | None) -> None:
    """BadRequest for a file that could not be written: said before an hour of work, not after it."""
    for file in files:
        if file is None:
            continue
        if not file.parent.is_dir():
            raise BadRequest(f"cannot write {file}: there is no folder {file.parent}")
        if file.is_dir():
            raise BadRequest(f"cannot write {file}: it is a folder")


def write_file(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8", errors="replace")
    except OSError as error:
        raise BadRequest(f"cannot write {file}: {error.strerror}") from error
