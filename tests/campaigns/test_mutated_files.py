"""Mutated files: none crashes or stops an ingestion, none is left out of its account, and none harms its neighbors."""

import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.errors import Misconfigured
from citewise.ingest.chunkers.markdown import HeadingChunker
from citewise.model.access import Scope
from citewise.model.document import Block
from citewise.model.report import FileDone, FileOutcome, IngestReport
from citewise.settings import Settings
from tests.campaigns.mutations import mutated
from tests.campaigns.size import shrunk, steps
from tests.campaigns.worker import Died, Worker, alive
from tests.judged import WORDS_ALONE
from tests.pipelines.harness import Shelf
from tests.props.corpora import SHARED, TREES
from tests.stores import all_documents, chunks_at

Files = tuple[tuple[str, bytes], ...]  # by path below the folder that is ingested

BATCH = 50
RULES = 5  # files with patterns, and files with settings, in a batch
LIMIT_SECONDS = 60.0  # for one file, on a busy machine: an honest one takes milliseconds
SHRINKING_SECONDS = 60.0
SETTINGS = b"""library = "books"
[chunks]
target_tokens = 200
[ingest]
include = ["docs/", "*.md"]
access_by_path = {"hr/" = ["group:hr"], "**/public/*" = ["public"]}
[search]
fusion = "rrf"
weights = {words = 1.0}
"""
IGNORES = b"*.tmp\n!keep.md\nbuild/\n**/cache/**\n/a*b*.md\n[a-c]?.md\n# comment\n\\#x\n"
CANARIES = {
    f"{folder}/canary.md": f"# Lamp {name}\n\nThe {name}light is lit at dusk.\n\n## Oil {name}\n\nIt burns {name}oil.\n"
    for folder, name in (("0", "alba"), ("m", "mira"), ("zz", "zola"))
}
WORD = re.compile(r"\w*[^\W_]\w*")  # `___` is a rule, or nothing
LONG = 40  # characters: a longer word may be cut into several


def seeds() -> list[Path]:
    """Every Markdown file of the shared trees, where they are; of the sample handbook elsewhere."""
    return sorted(SHARED.rglob("*.md*")) or sorted(TREES["handbook"].rglob("*.md*"))


def a_batch(draw: random.Random, files: list[Path], size: int) -> Files:
    batch = [(path, text.encode()) for path, text in CANARIES.items()]
    for at in range(size):
        file, other = draw.choices(files, k=2)
        folder = draw.choice(("0", "m", "m/deep", *(f"ignored-{n}" for n in range(RULES)), "zz"))
        data = mutated(draw, file.read_bytes(), other.read_bytes())
        batch.append((f"{folder}/{at}-{file.stem[:20]}{file.suffix}", data))
    for n in range(RULES):
        batch.append((f"ignored-{n}/.gitignore", mutated(draw, IGNORES, IGNORES)))
        batch.append((f"{n}.toml", mutated(draw, SETTINGS, SETTINGS)))
    return tuple(batch)


def problem_of(files: Files, fault: str = "") -> str:
    """What is wrong after these files were ingested; nothing, if all is well. Runs in a worker."""
    if fault:
        FAULTS[fault]()
    with tempfile.TemporaryDirectory() as home:
        shelf = Shelf(Path(home), search=WORDS_ALONE)  # a canary's own words are in no other file
        for path, data in files:
            file = shelf.docs / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        first, outcomes = _ingested(shelf)
        second, _ = _ingested(shelf)
        return (
            _unaccounted(shelf, first, outcomes)
            or _changed(first, second)
            or _lost_words(shelf)
            or _lost_canaries(shelf, {path for path, _ in files} & CANARIES.keys())
            or _read_settings(shelf)
        )


def _ingested(shelf: Shelf) -> tuple[IngestReport, Mapping[str, list[FileOutcome]]]:
    outcomes: dict[str, list[FileOutcome]] = {}
    with shelf.library() as library:
        for event in library.ingest_events(shelf.docs):
            alive()
            if isinstance(event, FileDone):
                outcomes.setdefault(event.path, []).append(event.outcome)
    assert isinstance(event, IngestReport)
    return event, outcomes


def _unaccounted(shelf: Shelf, report: IngestReport, outcomes: Mapping[str, list[FileOutcome]]) -> str:
    left_out = tuple(entry.path for entry in report.skipped if entry.path.endswith("/"))
    there = {file.relative_to(shelf.docs).as_posix() for file in shelf.docs.rglob("*") if file.is_file()}
    expected = {path: 1 for path in there if not path.startswith(left_out or ("//",))}
    counted = {path: len(seen) for path, seen in outcomes.items() if not path.endswith("/")}
    if counted != expected:
        return f"not every file is accounted for once: {sorted(expected.items() ^ counted.items())}"
    totals = Counter(outcome for seen in outcomes.values() for outcome in seen)
    said = (report.ingested, report.unchanged, len(report.skipped), len(report.failed))
    found = tuple(totals[name] for name in ("ingested", "unchanged", "skipped", "failed"))
    return "" if said == found else f"the report counts {said}, its events {found}"


def _changed(first: IngestReport, second: IngestReport) -> str:
    is_same = (second.ingested, second.unchanged, second.removed) == (0, first.ingested, 0)
    is_same = is_same and (second.skipped, second.failed) == (first.skipped, first.failed)
    return "" if is_same else f"a second run differs: {second.summary('')}, first {first.summary('')}"


def _lost_words(shelf: Shelf) -> str:
    with shelf.opened() as library:
        for document in all_documents(library.catalog, Scope()):
            kept = {
                word
                for chunk in chunks_at(library.catalog, Scope(), document.path)
                for word in _words(chunk.piece.text)
            }
            wanted = {word for block in document.blocks for word in _words(block.text)}
            lost = {word for word in wanted - kept if not _is_cut(word, kept)}
            if lost:
                return f"words of {document.path} are in no chunk: {sorted(lost)[:5]}"
    return ""


def _is_cut(word: str, kept: set[str]) -> bool:
    """Whether a long word is there in parts."""
    parts = [part for part in kept if part in word] if len(word) > LONG else []
    reached = {0}  # characters of the word that some of the parts are, one after the other
    for at in range(len(word)):
        if at in reached:
            reached |= {at + len(part) for part in parts if word.startswith(part, at)}
    return len(word) in reached


def _words(text: str) -> set[str]:
    return set(WORD.findall(text))


def _lost_canaries(shelf: Shelf, canaries: set[str]) -> str:
    with shelf.library() as library:
        for path in sorted(canaries):
            for word in re.findall(r"\w+(?:light|oil)\b", CANARIES[path]):
                result = library.as_owner().search(word)
                if result.degraded or path not in [finding.passage.document for finding in result.findings[:1]]:
                    return f"{word} does not find {path} first: {result.degraded}"
    return ""


def _read_settings(shelf: Shelf) -> str:
    for file in shelf.docs.glob("*.toml"):
        with suppress(Misconfigured):
            Settings.read(file, {})
    return ""


class MutatedFiles:
    """The campaign: batches in a worker, until one fails."""

    def __init__(
        self,
        draw: random.Random,
        *,
        fault: str = "",
        limit_seconds: float = LIMIT_SECONDS,
        shrinking_seconds: float = SHRINKING_SECONDS,
    ) -> None:
        self._draw, self._fault, self._shrinking_seconds = draw, fault, shrinking_seconds
        self._worker = Worker(limit_seconds=limit_seconds)

    def run(self, files: int) -> str:
        """What the first failing file is, minimised; nothing, if none fails."""
        sources = seeds()
        with self._worker:
            for _ in range(-(-files // BATCH)):
                batch = a_batch(self._draw, sources, min(BATCH, files))
                if problem := self._problem(batch):
                    return self._minimised(batch, problem)
        return ""

    def _problem(self, files: Files) -> str:
        outcome = self._worker.run(problem_of, files, self._fault)
        return outcome.why if isinstance(outcome, Died) else str(outcome)

    def _minimised(self, files: Files, problem: str) -> str:
        until = time.monotonic() + self._shrinking_seconds

        def fails(some: Files) -> bool:
            return time.monotonic() < until and bool(self._problem(some))

        fewest = shrunk(files, fails)
        if len(fewest) == 1:
            ((path, data),) = fewest
            fewest = ((path, shrunk(data, lambda part: fails(((path, part),)))),)
        shown = ", ".join(f"{path}: {data[:500]!r} ({len(data)} bytes)" for path, data in fewest[:3])
        return f"{problem}\n{len(fewest)} files are enough for it: {shown}"


def test_no_mutated_file_harms_an_ingestion(draw: random.Random) -> None:
    assert not MutatedFiles(draw).run(steps(200, 100_000))


def _with_a_parser_that_raises() -> None:
    parse_text = MarkdownParser.parse_text

    def raising(self: MarkdownParser, text: str) -> object:
        if text.count("```") % 2:
            raise KeyError("fence")
        return parse_text(self, text)

    MarkdownParser.parse_text = raising  # type: ignore[assignment, method-assign]


def _with_a_regex_that_backtracks() -> None:
    parse_text = MarkdownParser.parse_text
    pattern = re.compile(r"(?:\*+)+b")

    def slow(self: MarkdownParser, text: str) -> object:
        pattern.search(text)
        return parse_text(self, text)

    MarkdownParser.parse_text = slow  # type: ignore[assignment, method-assign]


def _with_a_chunker_that_loses_a_word() -> None:
    cut = HeadingChunker.__call__

    def losing(self: HeadingChunker, blocks: tuple[Block, ...], *, title: str | None) -> object:
        return cut(self, blocks[:-1] if len(blocks) == 13 else blocks, title=title)

    HeadingChunker.__call__ = losing  # type: ignore[assignment, method-assign]


FAULTS: Mapping[str, Callable[[], None]] = {
    "a parser that raises KeyError": _with_a_parser_that_raises,
    "a regex that backtracks": _with_a_regex_that_backtracks,
    "a chunker that loses words": _with_a_chunker_that_loses_a_word,
}


def test_the_campaign_notices_a_parser_that_raises_and_names_the_one_file(draw: random.Random) -> None:
    found = MutatedFiles(draw, fault="a parser that raises KeyError", shrinking_seconds=10).run(2_000)
    assert "KeyError: 'fence'" in found
    assert "1 files are enough" in found


def test_the_campaign_notices_a_chunker_that_loses_words(draw: random.Random) -> None:
    found = MutatedFiles(draw, fault="a chunker that loses words", shrinking_seconds=0).run(2_000)
    assert "are in no chunk" in found


def test_the_campaign_notices_a_regex_that_backtracks(draw: random.Random) -> None:
    fault = "a regex that backtracks"
    assert "no sign of life" in MutatedFiles(draw, fault=fault, limit_seconds=5, shrinking_seconds=0).run(2_000)
