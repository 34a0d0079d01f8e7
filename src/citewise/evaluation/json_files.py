"""Files that somebody else wrote: read up to a limit, checked by pydantic, with errors that name file and place."""

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from citewise.errors import BadRequest

Model = TypeVar("Model", bound=BaseModel)


def read_bytes(file: Path, *, max_bytes: int) -> bytes:
    """The content of a file; BadRequest if it cannot be read or is larger than that."""
    try:
        with file.open("rb") as opened:
            data = opened.read(max_bytes + 1)
    except OSError as error:
        raise BadRequest(f"cannot read {file}: {error.strerror}") from error
    if len(data) > max_bytes:
        raise BadRequest(f"{file} is larger than {max_bytes:,} bytes")
    return data


def read_json(file: Path, *, max_bytes: int) -> object:
    """The value in a file; BadRequest also if it is not JSON."""
    try:
        return json.loads(read_bytes(file, max_bytes=max_bytes))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, BadRequest) else BadRequest(f"{file} is not valid JSON: {error}") from error


def validated(model: type[Model], value: object, *, where: str) -> Model:
    """The value as a model; BadRequest names the first place that is wrong, and why."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise BadRequest(f"{where}: {problem_in(error)}") from error


def problem_in(error: ValidationError) -> str:
    """The first problem: its place, and what is wrong there."""
    first = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
    is_object = first["type"] in ("model_type", "dict_type", "mapping_type", "dataclass_type")
    reason = "must be a JSON object" if is_object else str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {reason}" if place else reason
