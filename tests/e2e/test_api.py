"""The library as programs use it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewise import Library, Scope
from citewise.model.errors import BadRequest, Locked


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for n in range(3):
        (tmp_path / "docs" / f"p{n}.md").write_text(f"# Page {n}\n\nWords.\n")
    return tmp_path / "docs"


def test_ingest_status_doctor_and_reindex(docs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    assert library.ingest(docs, access=["group:ops"]).ingested == 3
    assert library.ingest(docs, scope=Scope("rival")).ingested == 3
    assert library.ingest(docs).unchanged == 3
    assert library.status().chunks == 6
    assert all(check.is_ok for check in library.doctor())
    assert library.reindex() == 6


def test_mistakes_are_errors_a_program_can_tell_apart(docs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    with pytest.raises(BadRequest):
        library.status()
    with pytest.raises(BadRequest):
        library.ingest(docs, access=["everyone"])


def test_threads_may_share_a_library(docs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    library.ingest(docs)

    def ingested(_: int) -> int:
        try:
            return library.ingest(docs).unchanged
        except Locked:
            return 3  # somebody else was writing, and said so

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ingested, range(8))) == [3] * 8
    assert library.status().documents == 3
