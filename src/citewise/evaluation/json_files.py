"""JSON that somebody else wrote: read up to a limit, checked by pydantic, with errors that name file and place."""

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from citewise.errors import BadRequest

Model = TypeVar("Model", bound=BaseModel)


def read_json(file: Path, *, max_bytes: int, advice: str = "") -> object:
    """The value in a file; BadRequest if it cannot be read, is larger than that, or is not JSON."""
    try:
        with file.open("rb") as opened:
            data = opened.read(max_bytes + 1)
    except OSError as error:
        raise BadRequest(f"cannot read {file}: {error.strerror}") from error
    if len(data) > max_bytes:
        raise BadRequest(f"{file} is larger than {max_bytes:,} bytes{advice}")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"{file} is not valid JSON: {error}") from error


def validated(model: type[Model], value: object, *, where: str) -> Model:
    """The value as a model; BadRequest names the first place that is wrong, and why."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        is_object = first["type"] in ("model_type", "dict_type")
        reason = "must be a JSON object" if is_object else str(first["msg"]).removeprefix("Value error, ")
        raise BadRequest(f"{where}: {place.removeprefix('.')}: {reason}" if place else f"{where}: {reason}") from error
