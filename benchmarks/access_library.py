"""A synthetic library with many secrets: 100,000 chunks of as many documents, ten rules each, ten thousand groups.

Group 1 reads most and each further one less, by Zipf's law, as teams do. Made once, in about two minutes.

    python -m benchmarks.access_library      (makes .bench/access-100000)
"""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.judged import KEPT
from benchmarks.synthetic import GROUP, Ready, synthetic_embedding, write_of
from citewise.library import OpenLibrary
from citewise.model.access import Access, Principal, Scope
from citewise.model.chunk import Chunk
from citewise.ports.catalog import DocumentWrite
from citewise.settings import Settings
from citewise.wiring import stored_library

CHUNKS = 100_000
RULES_A_DOCUMENT = 10
GROUPS = 10_000
MEMBERSHIPS = 20


def member(seed: int = 3) -> Principal:
    """Somebody in twenty groups, large and small ones."""
    draw = np.random.default_rng(seed)
    return Principal(user="ann", groups=frozenset(group_of(rank) for rank in _ranks(draw, MEMBERSHIPS)))


def member_of(first: int) -> Principal:
    """Somebody in twenty groups of about one size, from this rank on."""
    return Principal(user="ann", groups=frozenset(group_of(rank) for rank in range(first, first + MEMBERSHIPS)))


def group_of(rank: int) -> str:
    return f"team-{rank}"


def rules_of(number: int) -> Access:
    """Who may read the document of this number."""
    ranks = _ranks(np.random.default_rng([9, number]), RULES_A_DOCUMENT)
    return Access.of(f"group:{group_of(rank)}" for rank in ranks)


def access_folder(*, kept: Path = KEPT) -> Path:
    """The library, made on first use; `made.json` in it says how long that took."""
    folder = kept / f"access-{CHUNKS}"
    done = folder / "made.json"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)  # left by a run that was stopped
        started = time.perf_counter()
        with stored_library(Settings(library=folder), synthetic_embedding(CHUNKS)).writing() as library:
            _fill(library)
        done.write_text(json.dumps({"seconds": time.perf_counter() - started}))
    return folder


def _fill(library: OpenLibrary) -> None:
    made = _writes()
    while group := list(islice(made, GROUP)):
        library.catalog.keep({digest: vector for _, ready in group for digest, vector in ready.items()}, {})
        library.catalog.store([write for write, _ in group])
    library.project(Scope())


def _writes() -> Iterator[Ready]:
    for number in range(CHUNKS):
        write, ready = write_of(number, chunks=1)
        document = replace(write.document, access=rules_of(number))
        yield DocumentWrite(document, Chunk.of_document(document, tuple(chunk.piece for chunk in write.chunks))), ready


def _ranks(draw: np.random.Generator, count: int) -> list[int]:
    """Different ranks by Zipf's law, from 1."""
    ranks: dict[int, None] = {}
    while len(ranks) < count:
        ranks[int(GROUPS ** draw.random())] = None
    return list(ranks)


if __name__ == "__main__":
    print(access_folder())
