"""Servers on loopback that answer what a test tells them to, well or badly: a free port, a thread, and an end."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar

HANG_SECONDS = 60.0  # of a reply that hangs
Asked = TypeVar("Asked")  # what a request held
Replied = TypeVar("Replied")


@contextmanager
def listening(listener: ThreadingHTTPServer, *, release: Callable[[], None] = lambda: None) -> Iterator[str]:
    """The address at which the listener answers, for as long as the block lasts; `release` lets hanging replies go."""
    listener.daemon_threads = True
    thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_address[1]}"
    finally:
        release()
        listener.shutdown()
        listener.server_close()
        thread.join()


class ScriptedServer(Generic[Asked, Replied]):
    """Remembers what it was asked, and answers by its script, then by its rule."""

    def __init__(self, rule: Replied | Callable[[Asked], Replied]) -> None:
        self.rule = rule
        self.script: list[Replied | Callable[[Asked], Replied]] = []
        self.asked: list[Asked] = []
        self.url = ""
        self.closing = Event()
        self._lock = Lock()

    def reply_to(self, asked: Asked) -> Replied:
        """The next reply."""
        with self._lock:
            self.asked.append(asked)
            chosen = self.script.pop(0) if self.script else self.rule
        return chosen(asked) if callable(chosen) else chosen


class QuietHandler(BaseHTTPRequestHandler):
    """Reads JSON; says nothing of what it does."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or every answer waits 40 ms for the other side

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client may hang up in the middle of an answer
            super().handle()

    def request_json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back; a reply that hangs or drips does so until the server is closed."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    drips: bool = False  # the body, without end, a byte at a time
    drips_headers: bool = False
    closes: bool = False  # the connection, without a word


AskedOf = Callable[[str, dict[str, Any], Mapping[str, str]], Asked | None]  # of path, JSON and headers


@contextmanager
def running(server: ScriptedServer[Asked, Reply], asked_of: AskedOf[Asked]) -> Iterator[None]:
    """Answer at a free port for as long as the block lasts; a path of which nothing was asked is not found."""

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            asked = asked_of(self.path, self.request_json(), dict(self.headers.items()))
            reply = Reply(404) if asked is None else server.reply_to(asked)
            if reply.hangs:
                server.closing.wait(HANG_SECONDS)
            if reply.closes or reply.hangs:
                self.close_connection = True
            elif reply.drips_headers:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drops: ")
                self._drip()
            else:
                length = 1_000_000 if reply.drips else len(reply.body)
                self.send_head(reply.status, {**reply.headers, "Content-Length": str(length)})
                self.wfile.write(reply.body)
                if reply.drips:
                    self._drip()

        def _drip(self) -> None:
            self.close_connection = True
            while not server.closing.wait(0.02):
                self.wfile.write(b" ")

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Handler), release=server.closing.set) as server.url:
        yield
