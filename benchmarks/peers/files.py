"""The files that runner and drivers share: corpora with ready vectors, and jobs. Standard library and numpy only."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TENANTS = tuple(f"t{number}" for number in range(10))  # each holds about a tenth of the documents


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk as every framework gets it: the text that was embedded, and whose it is."""

    key: str  # document#position
    document: str
    tenant: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Chunks and questions with their vectors, row by row; `pages` holds the files the chunks were cut from."""

    chunks: Sequence[Chunk]
    vectors: NDArray[np.float32]
    questions: Sequence[Question]
    question_vectors: NDArray[np.float32]
    pages: Path


@dataclass(frozen=True, slots=True)
class Job:
    """What a driver is to do, and where."""

    material: Path
    work: Path
    out: Path
    judged: tuple[str, ...]
    principals: Mapping[str, frozenset[str] | None]  # name -> tenants it sees; None: all
    top_k: int
    depth: int  # chunks that are folded into documents
    warm_up: int  # questions asked before the clock runs; the others are timed


def write_corpus(folder: Path, corpus: Corpus) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kept = {"chunks": [asdict(row) for row in corpus.chunks], "questions": [asdict(row) for row in corpus.questions]}
    (folder / "corpus.json").write_text(json.dumps(kept), "utf-8")
    np.save(folder / "vectors.npy", corpus.vectors)
    np.save(folder / "question_vectors.npy", corpus.question_vectors)


def corpus_of(folder: Path) -> Corpus:
    kept = json.loads((folder / "corpus.json").read_text("utf-8"))
    return Corpus(
        chunks=tuple(Chunk(**row) for row in kept["chunks"]),
        vectors=np.load(folder / "vectors.npy"),
        questions=tuple(Question(**row) for row in kept["questions"]),
        question_vectors=np.load(folder / "question_vectors.npy"),
        pages=folder / "pages",
    )


def write_job(file: Path, job: Job) -> None:
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(job).items()}
    plain["principals"] = {name: None if seen is None else sorted(seen) for name, seen in job.principals.items()}
    file.write_text(json.dumps(plain), "utf-8")


def job_of(file: Path) -> Job:
    kept = json.loads(file.read_text("utf-8"))
    return Job(
        material=Path(kept["material"]),
        work=Path(kept["work"]),
        out=Path(kept["out"]),
        judged=tuple(kept["judged"]),
        principals={name: None if seen is None else frozenset(seen) for name, seen in kept["principals"].items()},
        top_k=int(kept["top_k"]),
        depth=int(kept["depth"]),
        warm_up=int(kept["warm_up"]),
    )
