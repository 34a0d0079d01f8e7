"""An embedding server on loopback that answers what a test tells it to, well or badly."""

import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock

from tests.fakes.loopback import listening

DIMENSIONS = 8


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back; a reply that hangs does so until the server is closed."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    closes: bool = False  # the connection, without a word


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request held."""

    model: str
    texts: tuple[str, ...]
    headers: Mapping[str, str]


Answer = Callable[[Asked], Reply]


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


class EmbeddingServer:
    """Remembers what it was asked, and answers by its script, then by its rule."""

    def __init__(self) -> None:
        self.rule: Answer = well
        self.script: list[Reply | Answer] = []
        self.asked: list[Asked] = []
        self.url = ""
        self._lock = Lock()
        self._closing = Event()

    def reply_to(self, asked: Asked) -> Reply:
        """The next reply."""
        with self._lock:
            self.asked.append(asked)
            chosen = self.script.pop(0) if self.script else self.rule
        reply = chosen if isinstance(chosen, Reply) else chosen(asked)
        if reply.hangs:
            self._closing.wait(60)
        return reply

    def release(self) -> None:
        """Let hanging replies go."""
        self._closing.set()


@contextmanager
def running_server() -> Iterator[EmbeddingServer]:
    """A server on a free port of loopback, for as long as the block lasts."""
    server = EmbeddingServer()
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    with listening(listener, release=server.release) as address:
        server.url = f"{address}/v1"
        yield server


def _handler(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or every answer waits 40 ms for the other side

        def handle(self) -> None:
            with suppress(ConnectionError):  # a client may hang up in the middle of an answer
                super().handle()

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked = Asked(request["model"], tuple(request["input"]), dict(self.headers.items()))
            reply = server.reply_to(asked) if self.path == "/v1/embeddings" else Reply(404)
            if reply.closes or reply.hangs:
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    return Handler
