"""A rerank server on loopback that speaks as Cohere, Jina and TEI do, and answers well or as badly as a test asks."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock

from citewise.adapters.openai.reranker import Style
from tests.fakes.loopback import listening

STYLES: Mapping[str, Style] = {"/v2/rerank": "cohere", "/v1/rerank": "jina", "/rerank": "tei"}
HANG_SECONDS = 60.0  # of a reply that hangs
TEI_BATCH = 32  # texts; a server as it comes refuses more

Row = dict[str, object]


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


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request held."""

    style: Style
    question: str
    texts: tuple[str, ...]
    sent: Mapping[str, object]
    headers: Mapping[str, str]


Answer = Callable[[Asked], Reply]


def relevance(question: str, text: str) -> float:
    """The share of the question's words that the text has: the same for the same pair, in 0..1."""
    asked, said = (set(re.findall(r"\w+", one.lower())) for one in (question, text))
    return len(asked & said) / len(asked) if asked else 0.0


def rows_for(asked: Asked) -> list[Row]:
    """The rows of a right answer, best first, as the servers send them."""
    score = "score" if asked.style == "tei" else "relevance_score"
    scored = [(relevance(asked.question, text), at) for at, text in enumerate(asked.texts)]
    return [{"index": at, score: number} for number, at in sorted(scored, key=lambda one: (-one[0], one[1]))]


def with_rows(asked: Asked, rows: object) -> Reply:
    """An answer in the style asked for that holds these rows."""
    if asked.style == "tei":
        return as_json(rows)
    return as_json({"id": "1", "results": rows, "meta": {"billed_units": {"search_units": 1}}})


def as_json(answer: object) -> Reply:
    return Reply(body=json.dumps(answer).encode(), headers={"Content-Type": "application/json"})


def well(asked: Asked) -> Reply:
    """The right answer, or the refusal a right server has for what it does not take."""
    if asked.style == "tei" and len(asked.texts) > TEI_BATCH:
        return Reply(422, b'{"error":"batch size > maximum allowed batch size","error_type":"Validation"}')
    rows = rows_for(asked)
    if asked.style == "jina" and asked.sent.get("return_documents", True):
        rows = [{**row, "document": {"text": asked.texts[int(str(row["index"]))]}} for row in rows]
    top = asked.sent.get("top_n", len(rows))
    assert isinstance(top, int)
    return with_rows(asked, rows[:top])


class RerankServer:
    """Remembers what it was asked, and answers by its script, then by its rule."""

    def __init__(self) -> None:
        self.rule: Answer = well
        self.script: list[Reply | Answer] = []
        self.asked: list[Asked] = []
        self.closing = Event()
        self._root = ""
        self._lock = Lock()

    def base_url(self, style: Style) -> str:
        """What the setting rerank.base_url would say."""
        path = next(path for path, known in STYLES.items() if known == style)
        return self._root + path.removesuffix("/rerank")

    def reply_to(self, asked: Asked) -> Reply:
        """The next reply."""
        with self._lock:
            self.asked.append(asked)
            chosen = self.script.pop(0) if self.script else self.rule
        return chosen if isinstance(chosen, Reply) else chosen(asked)

    def listens_at(self, root: str) -> None:
        self._root = root


@contextmanager
def running_rerank_server() -> Iterator[RerankServer]:
    """A server on a free port of loopback, for as long as the block lasts."""
    server = RerankServer()
    listener = _Listener(("127.0.0.1", 0), _Handler)
    listener.fake = server
    with listening(listener, release=server.closing.set) as address:
        server.listens_at(address)
        yield server


def _asked(path: str, sent: Mapping[str, object], headers: Mapping[str, str]) -> Asked:
    style = STYLES[path]
    question, texts = sent["query"], sent["texts" if style == "tei" else "documents"]
    assert isinstance(question, str)
    assert isinstance(texts, list)
    return Asked(style, question, tuple(texts), sent, headers)


class _Listener(ThreadingHTTPServer):
    fake: RerankServer


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or every answer waits 40 ms for the other side

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client may hang up in the middle of an answer
            super().handle()

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path not in STYLES:
            self._send(Reply(404))
            return
        reply = self.server.fake.reply_to(_asked(self.path, sent, dict(self.headers.items())))
        if reply.hangs:
            self.server.fake.closing.wait(HANG_SECONDS)
        if reply.closes or reply.hangs:
            self.close_connection = True
        elif reply.drips_headers:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drops: ")
            self._drip()
        else:
            self._send(reply)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(1_000_000 if reply.drips else len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)
        if reply.drips:
            self._drip()

    def _drip(self) -> None:
        self.close_connection = True
        while not self.server.fake.closing.wait(0.02):
            self.wfile.write(b" ")

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""
