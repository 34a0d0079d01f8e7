"""What the catalog stores about a chunk is shown with every hit."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from citewise.cli.results import search_json
from tests.pipelines.harness import Shelf

PAGE = "# Sensors\n\n## Lidar\n\nA lidar measures distance by light.\n\n```python\nscan()\n```\n"


def test_a_hit_shows_what_is_stored_about_its_chunk(tmp_path: Path) -> None:
    shelf = Shelf.holding(tmp_path, {"module-1/chapter-02-sensing/lidar.md": PAGE})
    hits = search_json(shelf.search("What does a lidar measure?"))["hits"]
    assert isinstance(hits, list)
    hit = hits[0]
    text = str(hit["text"])
    assert hit["content_hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert hit["word_count"] == len(text.split())
    assert isinstance(hit["token_count"], int)
    assert hit["token_count"] > 0
    assert hit["chunk_index"] == 0
    assert (hit["chapter_number"], hit["chapter_title"]) == (2, "Sensing")
    assert hit["context_prefix"] == "Sensors > Lidar"
    assert hit["has_code"] is True
    assert hit["has_equations"] is False
    assert datetime.fromisoformat(str(hit["created_at"])) <= datetime.now(UTC)


def test_a_document_that_changes_keeps_the_time_of_its_first_ingestion(tmp_path: Path) -> None:
    shelf = Shelf.holding(tmp_path, {"lidar.md": PAGE})
    first = shelf.search("lidar").findings[0].passage.created_at
    shelf.write("lidar.md", PAGE.replace("light", "laser light"))
    shelf.ingest()
    again = shelf.search("lidar").findings[0].passage
    assert "laser light" in again.text
    assert again.created_at == first
