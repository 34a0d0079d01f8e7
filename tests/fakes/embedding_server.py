"""An embedding server on loopback that answers what a test tells it to, well or badly."""

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.fakes.loopback import Reply as Reply
from tests.fakes.loopback import ScriptedServer, running

DIMENSIONS = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request held."""

    model: str
    texts: tuple[str, ...]
    headers: Mapping[str, str]


def numbers_for(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The same numbers for the same text, of no particular length."""
    data = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() * (dimensions // 8 + 1)
    return [number / 2**31 for number in struct.unpack(f"<{dimensions}i", data[: 4 * dimensions])]


def rows_for(texts: Sequence[str], dimensions: int = DIMENSIONS) -> list[dict[str, object]]:
    """The rows of a right answer."""
    return [{"index": at, "embedding": numbers_for(text, dimensions)} for at, text in enumerate(texts)]


def with_rows(rows: object) -> Reply:
    """An answer that holds these rows."""
    return Reply(body=json.dumps({"object": "list", "data": rows}).encode())


def well(asked: Asked) -> Reply:
    """The right answer."""
    return with_rows(rows_for(asked.texts))


EmbeddingServer = ScriptedServer[Asked, Reply]


@contextmanager
def running_server() -> Iterator[EmbeddingServer]:
    """A server on a free port of loopback, for as long as the block lasts."""
    server = EmbeddingServer(well)
    with running(server, _asked):
        server.url += "/v1"
        yield server


def _asked(path: str, sent: dict[str, Any], headers: Mapping[str, str]) -> Asked | None:
    return Asked(sent["model"], tuple(sent["input"]), headers) if path == "/v1/embeddings" else None
