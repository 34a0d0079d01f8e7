"""Models by name from the hub, against a loopback server in its place."""

from collections.abc import Iterator
from hashlib import sha256
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from citewise.adapters.onnx.hub import COMPLETE, downloaded
from citewise.adapters.onnx.reranker import OnnxReranker
from citewise.errors import CitewiseError, Misconfigured, Unavailable
from tests.fakes.loopback import QuietHandler, listening
from tests.fakes.tiny_models import write_tiny_cross_encoder

NAME = "cross-encoder/tiny"
TOKENIZER = f"/{NAME}/resolve/main/tokenizer.json"
NESTED = f"/{NAME}/resolve/main/onnx/model.onnx"
FLAT = f"/{NAME}/resolve/main/model.onnx"

Page = tuple[int, dict[str, str], bytes]


class Hub(ThreadingHTTPServer):
    """Pages by path; what is not there is a 404."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(QuietHandler):
    server: Hub
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        self.wfile.write(self.do_HEAD())

    def do_HEAD(self) -> bytes:
        self.server.asked.append(self.path)
        missing = (404, {"X-Error-Code": "EntryNotFound"}, b"Entry not found")
        status, headers, body = self.server.pages.get(self.path, missing)
        known = {"Content-Length": str(len(body))}
        if "Content-Type" not in headers:  # else it is a web page of somebody else
            known |= {"ETag": f'"{sha256(self.path.encode()).hexdigest()}"', "X-Repo-Commit": "a" * 40}
        self.send_head(status, {**known, **headers})
        return body


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_tiny_cross_encoder(folder)
    return folder


@pytest.fixture
def hub(model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub()
    server.pages[TOKENIZER] = (200, {}, (model / "tokenizer.json").read_bytes())
    server.pages[NESTED] = (302, {"Location": "/a-store-for-large-files"}, b"")
    server.pages["/a-store-for-large-files"] = (200, {}, (model / "model.onnx").read_bytes())
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("NO_PROXY", "*")
    with listening(server):
        yield server


def failure(cache: Path, *, deadline_seconds: float = 60.0, max_bytes: int = 2**31) -> CitewiseError:
    """What is raised; it always names the model and the way without network, and leaves no half files."""
    with pytest.raises(CitewiseError, match=r"tiny.*rerank\.path") as caught:
        downloaded(NAME, cache, deadline_seconds=deadline_seconds, max_bytes=max_bytes)
    assert not (cache / "hub" / NAME / COMPLETE).exists()
    assert not list(cache.rglob(".model.onnx.*"))
    return caught.value


@pytest.mark.server
def test_a_name_becomes_a_folder_with_both_files(hub: Hub, tmp_path: Path, model: Path) -> None:
    folder = downloaded(NAME, tmp_path)
    assert (folder / "onnx" / "model.onnx").is_file()
    assert folder.is_relative_to(tmp_path)
    assert OnnxReranker(folder).scores("tide", ["a tide"]) == OnnxReranker(model).scores("tide", ["a tide"])


@pytest.mark.server
def test_the_second_use_needs_no_network(hub: Hub, tmp_path: Path) -> None:
    folder = downloaded(NAME, tmp_path)
    hub.asked.clear()
    assert downloaded(NAME, tmp_path) == folder
    assert hub.asked == []


def test_what_is_complete_in_the_cache_opens_no_socket(tmp_path: Path) -> None:
    folder = tmp_path / "hub" / NAME
    write_tiny_cross_encoder(folder)
    (folder / COMPLETE).touch()
    assert downloaded(NAME, tmp_path) == folder


@pytest.mark.server
def test_a_model_beside_its_tokenizer_is_found_too(hub: Hub, tmp_path: Path, model: Path) -> None:
    del hub.pages[NESTED]
    hub.pages[FLAT] = (200, {}, (model / "model.onnx").read_bytes())
    assert (downloaded(NAME, tmp_path) / "model.onnx").read_bytes() == (model / "model.onnx").read_bytes()


@pytest.mark.server
def test_a_download_that_stopped_halfway_is_begun_again(hub: Hub, tmp_path: Path, model: Path) -> None:
    half = tmp_path / "hub" / NAME / "onnx" / "model.onnx"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")
    downloaded(NAME, tmp_path)
    assert half.read_bytes() == (model / "model.onnx").read_bytes()


@pytest.mark.server
@pytest.mark.parametrize("status", [401, 403, 404])
@pytest.mark.parametrize("path", [TOKENIZER, NESTED])
def test_a_name_that_the_hub_does_not_give_is_for_the_operator(
    hub: Hub, tmp_path: Path, path: str, status: int
) -> None:
    hub.pages[path] = (status, {}, b"no")
    error = failure(tmp_path)
    assert isinstance(error, Misconfigured)
    assert str(status) in str(error)


@pytest.mark.server
@pytest.mark.parametrize(
    "page",
    [
        (500, {}, b""),
        (429, {}, b""),
        (200, {"Content-Type": "text/html; charset=utf-8"}, b"<html>Sign in to the hotel</html>"),
        (200, {"Content-Length": "1000"}, b"cut off"),
        (302, {"Location": NESTED}, b""),
    ],
    ids=["crash", "busy", "web page", "cut off", "circle"],
)
def test_a_hub_in_trouble_is_unavailable(hub: Hub, tmp_path: Path, page: Page) -> None:
    hub.pages[NESTED] = page
    assert isinstance(failure(tmp_path), Unavailable)


@pytest.mark.server
def test_a_hub_that_is_not_there_is_unavailable(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://user:password@127.0.0.1:9")
    error = failure(tmp_path)
    assert isinstance(error, Unavailable)
    assert "password" not in str(error)


@pytest.mark.server
def test_a_file_that_is_too_large_is_refused(hub: Hub, tmp_path: Path) -> None:
    assert isinstance(failure(tmp_path, max_bytes=1000), Misconfigured)


@pytest.mark.server
def test_the_deadline_ends_it(hub: Hub, tmp_path: Path) -> None:
    assert "too long" in str(failure(tmp_path, deadline_seconds=0.0))


@pytest.mark.server
def test_a_cache_that_cannot_be_written_is_named(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "hub").write_text("in the way")
    with pytest.raises(Unavailable, match="cache cannot be written"):
        downloaded(NAME, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *("", "tiny", "/tiny", "owner/", "../etc", "owner/..", "a..b/c", "owner/na/me", "/etc/passwd", "owner/.hidden"),
        *("C:\\models/x", "owner/na me", "owner/name\n", "owner/näme", "https://hub/a/b", "owner/na?me", "a/%2e"),
    ],
)
def test_a_hostile_name_is_refused_before_anything_is_touched(tmp_path: Path, name: str) -> None:
    with pytest.raises(Misconfigured, match="owner/name"):
        downloaded(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("endpoint", ["huggingface.co", "ftp://mirror", "https://", "http://hub:port"])
def test_an_endpoint_that_is_no_address_is_for_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(Misconfigured, match="HF_ENDPOINT"):
        downloaded(NAME, tmp_path)
