"""JSON that somebody else wrote: read up to a bound, with errors that name the file."""

import json
from pathlib import Path

from citewise.errors import BadRequest


def read_json(file: Path, *, max_bytes: int, called: str = "", advice: str = "") -> object:
    """What the file holds; BadRequest if it cannot be read, is larger than that, or is no JSON."""
    try:
        with file.open("rb") as opened:
            data = opened.read(max_bytes + 1)
    except OSError as error:
        raise BadRequest(f"cannot read {called}{file}: {error.strerror}") from error
    if len(data) > max_bytes:
        raise BadRequest(f"{called}{file} is larger than {max_bytes:,} bytes{advice}")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"{file} is not valid JSON: {error}") from error
