"""`citewise ingest` with a remote embedding model: a real HTTP server on loopback, good and bad."""

from pathlib import Path

import pytest

from tests.e2e.cli import error_of, json_of, written
from tests.fakes.embedding_server import Asked, EmbeddingServer, Reply, running_server, well

pytestmark = pytest.mark.server


def settings(server: EmbeddingServer, home: Path, dimensions: int = 8) -> None:
    (home / "citewise.toml").write_text(
        f"[embedding]\nprovider = 'openai'\nmodel = 'tiny'\ndimensions = {dimensions}\nbase_url = '{server.url}'\n"
        "api_key_variable = 'TEST_KEY'\ntimeout_seconds = 2\n"
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return written(tmp_path, {f"docs/p{n}.md": f"# Page {n}\n\nWords of page number{n}.\n" for n in range(3)})


def test_a_remote_model_embeds_with_the_key_from_the_named_variable(home: Path) -> None:
    with running_server() as server:
        settings(server, home)
        report = json_of("ingest", "docs", cwd=home, env={"TEST_KEY": "sesame"})
        assert (report["ingested"], report["embedded"]) == (3, 3)
        assert server.asked[0].headers["Authorization"] == "Bearer sesame"
        assert json_of("ingest", "docs", cwd=home)["embedded"] == 0
    raw = b"".join(file.read_bytes() for file in (home / ".citewise").rglob("*") if file.is_file())
    assert b"sesame" not in raw


def test_a_document_that_the_server_refuses_is_reported_and_the_rest_go_on(home: Path) -> None:
    def picky(asked: Asked) -> Reply:
        return Reply(400, b'{"error": {"message": "no"}}') if "number1" in " ".join(asked.texts) else well(asked)

    with running_server() as server:
        server.rule = picky
        settings(server, home)
        report = json_of("ingest", "docs", cwd=home, code=1)
        assert [entry["path"] for entry in report["failed"]] == ["p1.md"]
        assert report["ingested"] == 2
        server.rule = well
        assert json_of("ingest", "docs", cwd=home)["ingested"] == 1


def test_a_wrong_key_is_a_matter_of_configuration_and_is_not_shown(home: Path) -> None:
    with running_server() as server:
        server.rule = lambda asked: Reply(401, b"{}")
        settings(server, home)
        message = error_of("ingest", "docs", cwd=home, code=3, env={"TEST_KEY": "sesame-open"})
    assert "check the API key in TEST_KEY" in message
    assert "sesame-open" not in message


def test_wrong_dimensions_are_named(home: Path) -> None:
    with running_server() as server:
        settings(server, home, dimensions=16)
        assert "embedding.dimensions" in error_of("ingest", "docs", cwd=home, code=3)


def test_a_server_that_is_not_there_fails_documents_not_the_library(home: Path) -> None:
    with running_server() as server:
        settings(server, home)
    report = json_of("ingest", "docs", cwd=home, code=1)
    assert len(report["failed"]) == 3
    assert json_of("status", cwd=home)["documents"] == 0
