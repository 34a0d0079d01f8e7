"""BEIR folders: queries.jsonl and qrels/*.tsv are a judged set, and each row of corpus.jsonl is a Markdown document."""

import ast
import json
import logging
import re
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from citewise.api import Library
from citewise.errors import BadData, BadRequest, Unavailable
from citewise.evaluation.cases import Case, JudgedSet, Place, read_bytes
from citewise.model.access import Scope
from citewise.model.document import FileProblem, Item
from citewise.model.query import MAX_CHARACTERS
from citewise.model.report import IngestEvent, IngestReport

_log = logging.getLogger(__name__)

CORPUS, QUERIES, UNANSWERED = "corpus.jsonl", "queries.jsonl", "queries.no_page.jsonl"
MAX_BYTES = 500_000_000  # of the questions or the judgments of a folder: the largest public sets have a tenth
MAX_ROW_BYTES = 10_000_000  # of one document; a longer line is skipped
MAX_PARSED = 100_000  # characters that are parsed to see whether they are Python; more would take seconds
JUDGMENT = "question, document and grade, separated by tabs"

_GRADE = re.compile(r"(-?[0-9]{1,9})(?:\.0*)?")  # some tools write 1.0
_TICKS = re.compile(r"`+")


def beir_set(folder: Path) -> JudgedSet:
    """The questions of a folder. Without a corpus, judgments name documents by their path in the library."""
    corpus = folder / CORPUS if (folder / CORPUS).is_file() else None
    prefix, path = ("", str) if corpus is None else (f"{_mount(corpus)}/", path_of)
    judgments = _judgments(_qrels(folder))
    texts = dict(_questions(folder / QUERIES))
    _warn(folder / QUERIES, "judged questions without a text", [id_ for id_ in judgments if id_ not in texts])
    cases = [
        Case(
            id_, texts[id_], "answerable", tuple(Place(prefix + path(doc), grade=grade) for doc, grade in found.items())
        )
        for id_, found in judgments.items()
        if id_ in texts
    ]
    if (folder / UNANSWERED).is_file():
        cases += [Case(id_, text, "unanswerable") for id_, text in _questions(folder / UNANSWERED)]
    return JudgedSet(folder.resolve().name, "document", tuple(cases), corpus)


def path_of(id_: str) -> str:
    """The path of the document with this id: valid for any id, and different for each."""
    return quote(id_, safe="") + ".md"


def ingest_corpus(library: Library, corpus: Path, scope: Scope) -> Iterator[IngestEvent]:
    """Bring the library up to date with a corpus; nothing is written if it is there already."""
    source = BeirSource(corpus)
    entries = tuple(source.items())
    if not any(isinstance(entry, Item) for entry in entries):
        first = next((f" ({entry.path}: {entry.reason})" for entry in entries if isinstance(entry, FileProblem)), "")
        raise BadData(
            f"{corpus} has no document{first}: each line must be a JSON object with _id, title and text. "
            "If judgments name documents of the library by their paths, remove the file"
        )
    for event in library.ingest_source_events(source, name=_mount(corpus), scope=scope):
        yield event
        if isinstance(event, IngestReport):
            for problem, rows in (("rows left out", event.skipped), ("rows failed", event.failed)):
                _warn(corpus, problem, [f"{row.path}: {row.reason}" for row in rows])


def _mount(corpus: Path) -> str:
    """What the paths of the documents start with: the name of the folder, as a source can be named."""
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", corpus.resolve().parent.name).lstrip("-._@")[:64] or "corpus"


def _warn(file: Path, problem: str, examples: Sequence[str]) -> None:
    if examples:
        _log.warning("%s: %s (%d, such as %s)", file, problem, len(examples), examples[0])


def _qrels(folder: Path) -> Path:
    """qrels/test.tsv; if it is absent, the only file there."""
    found = sorted((folder / "qrels").glob("*.tsv"))
    test = folder / "qrels" / "test.tsv"
    if test in found or len(found) == 1:
        return test if test in found else found[0]
    if not found:
        raise BadRequest(f"{folder} has no judgments: qrels/test.tsv is missing")
    names = ", ".join(file.name for file in found)
    raise BadRequest(f"{folder / 'qrels'} has {names} and no test.tsv: name the one to use test.tsv")


def _judgments(file: Path) -> Mapping[str, Mapping[str, int]]:
    """By question, then by document: the grades above 0. Questions without any are left out with a warning."""
    judgments: dict[str, dict[str, int]] = {}
    for number, line in _lines(file):
        parts = line.rstrip("\r").split("\t")
        if number == 1 and parts[-1].strip() == "score":
            continue
        if len(parts) == 4:  # the TREC format: question, 0, document, grade
            del parts[1]
        match = _GRADE.fullmatch(parts[-1].strip())
        if len(parts) != 3 or match is None:
            raise BadRequest(f"{file}, line {number}: must be {JUDGMENT}; the grade is a whole number")
        question, document, grade = parts[0], parts[1], int(match[1])
        if judgments.setdefault(question, {}).setdefault(document, grade) != grade:
            raise BadData(f"{file}, line {number}: document {document!r} has two grades for question {question!r}")
    relevant = {id_: {doc: grade for doc, grade in found.items() if grade > 0} for id_, found in judgments.items()}
    if not any(relevant.values()):
        raise BadData(f"{file} has no grade above 0: write a judgment per line, {JUDGMENT}")
    _warn(file, "questions left out, since no grade is above 0", [id_ for id_ in relevant if not relevant[id_]])
    return {id_: grades for id_, grades in relevant.items() if grades}


def _questions(file: Path) -> Iterator[tuple[str, str]]:
    """Id and text of each question that can be asked, with a warning for the others."""
    empty, changed, seen = [], [], set[str]()
    for number, line in _lines(file):
        try:
            id_, _, text = _row(line)
        except BadData as error:
            raise BadRequest(f"{file}, line {number}: {error}") from error
        if id_ in seen:
            raise BadData(f"{file}, line {number}: the question {id_!r} is there twice")
        seen.add(id_)
        question = "".join(" " if unicodedata.category(char) in ("Cc", "Cs") else char for char in text).strip()
        if len(question) > MAX_CHARACTERS:
            question = question[:MAX_CHARACTERS].rsplit(" ", 1)[0]
        if question != text.strip():
            changed.append(id_)
        if question:
            yield id_, question
        else:
            empty.append(id_)
    _warn(file, "questions left out, since they are empty", empty)
    _warn(file, f"questions cut to {MAX_CHARACTERS:,} characters or stripped of control characters", changed)


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not empty, with their numbers."""
    data = read_bytes(file, max_bytes=MAX_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadRequest(f"{file}, line {line}: not valid UTF-8") from error
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _row(line: str | bytes) -> tuple[str, str, str]:
    """Id, title and text of a line of corpus.jsonl or queries.jsonl; half a character becomes a question mark."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadData("not a line of JSON") from error
    if not isinstance(row, dict):
        raise BadData("must be a JSON object")
    id_, title, text = row.get("_id"), row.get("title") or "", row.get("text")
    id_ = str(id_) if type(id_) is int else id_
    if not (isinstance(id_, str) and isinstance(title, str) and isinstance(text, str) and id_):
        raise BadData("must have an _id and a text; both are strings, as is the title if there is one")
    id_, title, text = (part.encode("utf-8", "replace").decode() for part in (id_, title, text))
    return id_, title, text


class BeirSource:
    """The rows of corpus.jsonl, in its order. Only their offsets are kept in memory."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rows: dict[str, tuple[int, int]] = {}  # offset and length, by path

    def items(self) -> Iterator[Item | FileProblem]:
        self._rows.clear()
        try:
            with self._file.open("rb") as opened:
                for number, (offset, length, line) in enumerate(_rows(opened), start=1):
                    if line.strip():
                        yield self._item(number, line, offset, length)
        except OSError as error:
            raise Unavailable(f"cannot read {self._file}: {str(error.strerror).lower()}") from error

    def read(self, item: Item) -> bytes:
        offset, length = self._rows[item.path]
        try:
            with self._file.open("rb") as opened:
                opened.seek(offset)
                line = opened.read(length)
        except OSError as error:
            raise BadData(str(error.strerror).lower()) from error
        id_, title, text = _row(line)
        if path_of(id_) != item.path:
            raise BadData("the file has changed while it was read: try again")
        return _page(title, text).encode()

    def _item(self, number: int, line: bytes, offset: int, length: int) -> Item | FileProblem:
        place = f"{self._file.name}:{number}"
        if length > MAX_ROW_BYTES:
            return FileProblem(place, f"longer than {MAX_ROW_BYTES:,} bytes")
        try:
            id_, _, _ = _row(line)
        except BadData as error:
            return FileProblem(place, str(error))
        path = path_of(id_)
        if path in self._rows:
            return FileProblem(place, f"its _id {id_!r} occurred before")
        self._rows[path] = (offset, length)
        return Item(path, length, "text/markdown")


def _rows(opened: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Offset, length and content of each line; of one that is too long, only the beginning."""
    offset = 0
    while line := opened.readline(MAX_ROW_BYTES + 1):
        end = line
        length = len(line)
        while not end.endswith(b"\n") and (end := opened.readline(MAX_ROW_BYTES)):
            length += len(end)
        yield offset, length, line
        offset += length


def _page(title: str, text: str) -> str:
    """A document as a Markdown file: its title as the heading, Python as a code block."""
    if _is_python(text):
        fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))  # longer than any in it
        text = f"{fence}python\n{text}\n{fence}"
    line = " ".join(title.split())
    return f"# {line}\n\n{text}\n" if line else f"{text}\n"


def _is_python(text: str) -> bool:
    starts_like_python = text.lstrip().startswith(("def ", "class ", "async def ", "@"))
    if "def " not in text and "class " not in text:
        return False
    if len(text) > MAX_PARSED:
        return starts_like_python
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about somebody else's code
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return starts_like_python
    return True
