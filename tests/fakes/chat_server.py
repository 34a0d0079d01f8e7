"""A chat server on loopback that streams what a test tells it to, well or badly."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock
from time import sleep
from typing import Any

from tests.fakes.loopback import listening

EVENTS = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back, chunk by chunk; what comes after the last one is up to the flags."""

    chunks: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": EVENTS})
    pause_seconds: float = 0.0  # between two chunks
    is_endless: bool = False  # the last chunk again and again, until the client hangs up
    stalls: bool = False  # before the headers, until the server is closed
    hangs: bool = False  # behind the last chunk, until the server is closed
    breaks: bool = False  # the connection, without an end to the stream
    closes: bool = False  # the connection, without a word


def event(data: object) -> bytes:
    """One server-sent event."""
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def delta(content: str | None, *, finish: str | None = None) -> bytes:
    """A piece of an answer."""
    return event({"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}]})


DONE = event(b"[DONE]")
STOP = delta(None, finish="stop")


def saying(*pieces: str) -> Reply:
    """An answer as it should be."""
    role = event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]})
    return Reply([role, *map(delta, pieces), STOP, DONE])


def refusing(status: int, error: object = None, *, retry_after: str | None = None) -> Reply:
    """An error, in the words of the protocol."""
    headers = {"Content-Type": "application/json", **({"Retry-After": retry_after} if retry_after else {})}
    return Reply([json.dumps({"error": error}).encode()], status, headers)


class ChatServer:
    """Remembers what it was asked, and answers by its script, then by its rule."""

    def __init__(self) -> None:
        self.rule = saying("Hello.")
        self.script: list[Reply] = []
        self.asked: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.url = ""
        self.closing = Event()
        self.waiting = Event()  # a reply stalls or hangs
        self.hung_up = Event()  # the client did, in the middle of an answer
        self._lock = Lock()

    def reply_to(self, request: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        """The next reply."""
        with self._lock:
            self.asked.append(request)
            self.headers.append(headers)
            return self.script.pop(0) if self.script else self.rule


@contextmanager
def running_chat_server() -> Iterator[ChatServer]:
    """A server on a free port of loopback, for as long as the block lasts."""
    server = ChatServer()
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    with listening(listener, release=server.closing.set) as address:
        server.url = f"{address}/v1"
        yield server


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or every chunk waits 40 ms for the other side

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                server.hung_up.set()

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            is_right = self.path == "/v1/chat/completions"
            reply = server.reply_to(request, dict(self.headers.items())) if is_right else Reply(status=404)
            _send(self, reply, server)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    return Handler


def _send(handler: BaseHTTPRequestHandler, reply: Reply, server: ChatServer) -> None:
    if reply.closes:
        handler.close_connection = True
        return
    if reply.stalls:
        server.waiting.set()
        server.closing.wait(60)
        handler.close_connection = True
        return
    handler.send_response(reply.status)
    for name, value in reply.headers.items():
        handler.send_header(name, value)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for chunk in _chunks(reply, server):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        sleep(reply.pause_seconds)
    if reply.hangs:
        server.waiting.set()
        server.closing.wait(60)
    if reply.hangs or reply.breaks:
        handler.close_connection = True
        return
    with suppress(ConnectionError):  # an answer may be over for a client before it is for us
        handler.wfile.write(b"0\r\n\r\n")


def _chunks(reply: Reply, server: ChatServer) -> Iterator[bytes]:
    yield from reply.chunks
    while reply.is_endless and not server.closing.is_set():
        yield reply.chunks[-1]
