"""kill -9 at random moments: nothing acknowledged is lost, and the end is the same as without."""

import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from citewise.model.access import Scope
from citewise.model.chunk import Vector
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.ports.models import Embedding
from citewise.settings import Settings
from citewise.wiring import stored_library
from citewise.wiring_models import embedding_of
from tests.e2e.cli import COMMAND, json_of
from tests.stores import all_documents, chunks_at

KILLS, MAX_ROUNDS = 20, 100  # a run that ends before it is killed is followed by a new edition
EVERYTHING = Where(Scope(), None)


def write_pages(docs: Path, draw: random.Random, *, edition: int) -> None:
    """About sixty pages, a third of them other ones in each edition; some go, some come."""
    for n in range(60):
        file = docs / f"part-{n % 4}" / f"page-{n}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        if draw.random() < 0.1 and edition:
            file.unlink(missing_ok=True)
        elif not file.exists() or draw.random() < 0.35:
            body = "\n\n".join(
                f"## Part {k} of {n}\n\nHarbor edition {edition}: {draw.randrange(10**6)} reads gauge {n}."
                for k in range(4)
            )
            file.write_text(f"# Page {n}\n\n{body}\n")


def killed_run(home: Path, after_seconds: float) -> tuple[set[str], bool]:
    """Start an ingest and kill it; returns what it had acknowledged, and whether it was killed in time."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [COMMAND, "ingest", "docs", "--verbose"], cwd=home, stdout=subprocess.DEVNULL, stderr=said
        )
        time.sleep(after_seconds)
        process.send_signal(signal.SIGKILL)
        was_killed = process.wait() == -signal.SIGKILL
        said.seek(0)
        lines = [line for line in said.read().split("\n") if line.startswith("ingested ") and line.endswith(")")]
    return {line.split(" ")[1] for line in lines}, was_killed


def contents(library: Path, embedding: Embedding) -> dict[str, list[tuple[ChunkId, str, Vector]]]:
    """Every document's chunks with their vectors; the index must answer, and hold exactly these chunks."""
    with stored_library(Settings(library=library), embedding).reading() as opened:
        catalog = opened.catalog
        found = {}
        for document in all_documents(catalog, Scope()):
            chunks = chunks_at(catalog, Scope(), document.path)
            vectors = catalog.vectors([chunk.text_digest for chunk in chunks])
            found[document.path] = [(chunk.id, chunk.piece.text, vectors[chunk.text_digest]) for chunk in chunks]
        ids = {id_ for chunks in found.values() for id_, _, _ in chunks}
        by_words = opened.texts.search(["harbor"], field="words", where=EVERYTHING, limit=10_000)
        by_meaning = opened.vectors.search(embedding.embedder.query("harbor"), where=EVERYTHING, limit=10_000)
        assert {hit.id for hit in by_meaning} == ids
        assert {hit.id for hit in by_words} == ids
        return found


def test_nothing_acknowledged_is_lost_and_the_end_is_the_same(tmp_path: Path) -> None:
    draw = random.Random(11)
    embedding = embedding_of(Settings())
    docs, kills, edition = tmp_path / "docs", 0, 0
    write_pages(docs, draw, edition=edition)
    json_of("ingest", "docs/part-0", "--library", "warm-up", cwd=tmp_path)  # prepares the model once
    acknowledged: set[str] = set()
    for _ in range(MAX_ROUNDS):
        if kills == KILLS:
            break
        done, was_killed = killed_run(tmp_path, draw.uniform(0.3, 2.2))
        acknowledged |= done
        kills += was_killed
        if (tmp_path / ".citewise" / "CURRENT").exists():
            held = contents(tmp_path / ".citewise", embedding)
            assert {path for path in acknowledged if (docs / path).exists()} <= held.keys()
        if not was_killed:
            edition += 1
            write_pages(docs, draw, edition=edition)
            acknowledged.clear()  # a page may go in one edition and come back, not yet ingested, in another
    assert kills == KILLS
    report = json_of("ingest", "docs", cwd=tmp_path)
    assert report["failed"] == []
    json_of("ingest", "docs", "--library", "clean", cwd=tmp_path)
    assert contents(tmp_path / ".citewise", embedding) == contents(tmp_path / "clean", embedding)
