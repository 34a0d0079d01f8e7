"""A chat server on loopback that streams what a test tells it to, well or badly."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from threading import Event
from time import sleep
from typing import Any

from tests.fakes.loopback import HANG_SECONDS, QuietHandler, ScriptedServer, listening

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
    drips_headers: bool = False  # a byte at a time, without end
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


class ChatServer(ScriptedServer[dict[str, Any], Reply]):
    def __init__(self) -> None:
        super().__init__(saying("Hello."))
        self.headers: list[Mapping[str, str]] = []
        self.waiting = Event()  # a reply stalls or hangs
        self.hung_up = Event()  # the client did, in the middle of an answer


@contextmanager
def running_chat_server() -> Iterator[ChatServer]:
    """A server on a free port of loopback, for as long as the block lasts."""
    server = ChatServer()
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    with listening(listener, release=server.closing.set) as address:
        server.url = f"{address}/v1"
        yield server


def _handler(server: ChatServer) -> type[QuietHandler]:
    class Handler(QuietHandler):
        def do_POST(self) -> None:
            request = self.request_json()
            server.headers.append(dict(self.headers.items()))
            is_right = self.path == "/v1/chat/completions"
            try:
                _send(self, server.reply_to(request) if is_right else Reply(status=404), server)
            except ConnectionError:
                server.hung_up.set()
                raise

    return Handler


def _send(handler: QuietHandler, reply: Reply, server: ChatServer) -> None:
    if reply.stalls:
        server.waiting.set()
        server.closing.wait(HANG_SECONDS)
    if reply.drips_headers:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drops: ")
        while not server.closing.wait(0.02):
            handler.wfile.write(b" ")
    if reply.closes or reply.stalls or reply.drips_headers:
        handler.close_connection = True
        return
    handler.send_head(reply.status, {**reply.headers, "Transfer-Encoding": "chunked"})
    for chunk in _chunks(reply, server):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        sleep(reply.pause_seconds)
    if reply.hangs:
        server.waiting.set()
        server.closing.wait(HANG_SECONDS)
    if reply.hangs or reply.breaks:
        handler.close_connection = True
        return
    with suppress(ConnectionError):  # an answer may be over for a client before it is for us
        handler.wfile.write(b"0\r\n\r\n")


def _chunks(reply: Reply, server: ChatServer) -> Iterator[bytes]:
    yield from reply.chunks
    while reply.is_endless and not server.closing.is_set():
        yield reply.chunks[-1]
