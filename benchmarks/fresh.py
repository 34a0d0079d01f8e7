"""What a new process needs to open a library and answer one question: seconds, memory. Prints JSON.

python -m benchmarks.fresh CHUNKS      (of a synthetic library that is there)
"""

import json
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.judged import KEPT

MAX_SECONDS = 120
ROOT = Path(__file__).parents[1]
# What a search imports, which is not part of opening.
IMPORTED = (
    *("adapters.local_index.texts", "adapters.memory.query_log", "adapters.sqlite.rankings", "library", "service"),
    *("search.pages", "search.rescore", "text.secrets", "ingest.chunkers.markdown"),
)


@dataclass(frozen=True, slots=True)
class Opened:
    """Seconds from opening to the first answer, imports and the embedding of the question not counted."""

    seconds: float
    first_search_ms: float
    resident_mb: float  # all pages, those of mapped files among them
    own_mb: float  # pages of its own


def opened_in_new_process(chunks: int) -> Opened:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.fresh", str(chunks)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=MAX_SECONDS,
    )
    return Opened(**json.loads(done.stdout))


def _opened(chunks: int) -> Opened:
    from benchmarks.synthetic import SHARES, questions, reader, synthetic_embedding
    from benchmarks.timing import FORGETFUL
    from citewise import Library

    for name in IMPORTED:
        import_module(f"citewise.{name}")

    texts = questions(2 + len(SHARES))
    embedding = synthetic_embedding(chunks)
    for question in texts:
        embedding.embedder.query(question)
    started = time.perf_counter()
    library = Library(
        KEPT / f"speed-{chunks}",
        settings=FORGETFUL,
        embedder=embedding.embedder,
        token_counter=embedding.counter,
        word_embedder=embedding.words,
    )
    library.as_owner().search(texts[0])
    seconds = time.perf_counter() - started
    library.as_owner().search(texts[1])
    first_search_ms = 1000 * (time.perf_counter() - started - seconds)
    for question, share in zip(texts[2:], SHARES, strict=True):  # memory with all filters in use
        library.as_principal(reader(share)).search(question)
    return Opened(seconds, first_search_ms, status_mb("VmRSS"), status_mb("RssAnon"))


def status_mb(name: str) -> float:
    """From the kernel: ru_maxrss would count what the parent held when it forked."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1000


if __name__ == "__main__":
    print(json.dumps(asdict(_opened(int(sys.argv[1])))))
