"""A cross-encoder by its name on the Hugging Face hub: fetched once into a cache, then never asked for again.

Written on httpx, since two files are all that is wanted: no tokens, no symbolic links, no second cache.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx

from citewise.errors import CitewiseError, Misconfigured, Unavailable

HUB = "https://huggingface.co"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}/[A-Za-z0-9_][A-Za-z0-9._-]{0,95}")
COMPLETE = ".complete"  # written last: a folder without it is fetched again
FILES = {  # what we keep -> where the hub may have it
    "tokenizer.json": ("tokenizer.json",),
    "model.onnx": ("onnx/model.onnx", "model.onnx"),
}
TIMEOUT_SECONDS = 30.0  # for each sign of life
NOT_FOR_US = (401, 403, 404)  # the hub says 401 also for a name that nobody has


def fetched(name: str, cache: Path, *, patience_seconds: float = 900.0, largest_bytes: int = 2**31) -> Path:
    """The folder that holds the model's tokenizer.json and model.onnx; the network is touched only the first time.

    `patience_seconds` is for both files together; `largest_bytes` is for one, and ONNX itself can hold no more.
    """
    if not NAME.fullmatch(name) or ".." in name:
        raise Misconfigured(
            f"rerank.model is {name[:200]!r}, which is no name on the hub: it must read owner/name, for example "
            "cross-encoder/ms-marco-MiniLM-L-6-v2. For a model of your own set rerank.path to its folder."
        )
    folder = cache / "hub" / name
    if not all((folder / file).is_file() for file in (*FILES, COMPLETE)):
        _fetch(_Wanted(name, _endpoint(name), time.monotonic() + patience_seconds, largest_bytes), folder)
    return folder


@dataclass(frozen=True, slots=True)
class _Wanted:
    name: str
    endpoint: httpx.URL
    ends_at: float  # of time.monotonic
    largest_bytes: int

    def url(self, path: str) -> str:
        return f"{str(self.endpoint).rstrip('/')}/{self.name}/resolve/main/{path}"

    def failure(self, why: str) -> str:
        """What to tell a person; the host only, as an endpoint's address may hold a password."""
        return (
            f"The reranking model {self.name} cannot be fetched from {self.endpoint.host}: {why}. Try again, or "
            "download its tokenizer.json and onnx/model.onnx on a machine with network, put both into one folder "
            "and set rerank.path to it."
        )


def _endpoint(name: str) -> httpx.URL:
    try:
        endpoint = httpx.URL(os.environ.get("HF_ENDPOINT") or HUB)
    except httpx.InvalidURL as error:
        raise Misconfigured(f"HF_ENDPOINT is no address to fetch {name} from: unset or mend it") from error
    if endpoint.scheme not in ("http", "https") or not endpoint.host:
        raise Misconfigured(f"HF_ENDPOINT is no address to fetch {name} from: it must start with https://")
    return endpoint


def _fetch(wanted: _Wanted, folder: Path) -> None:
    with _our_errors(wanted), httpx.Client(follow_redirects=True, timeout=TIMEOUT_SECONDS) as client:
        folder.mkdir(parents=True, exist_ok=True)
        for file, paths in FILES.items():
            _fetch_first(client, wanted, paths, folder / file)
        (folder / COMPLETE).touch()


@contextmanager
def _our_errors(wanted: _Wanted) -> Iterator[None]:
    try:
        yield
    except CitewiseError:
        raise
    except httpx.TimeoutException as error:
        raise Unavailable(wanted.failure("it does not answer in time")) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Unavailable(wanted.failure(f"it cannot be reached ({type(error).__name__})")) from error
    except OSError as error:
        raise Unavailable(wanted.failure(f"the cache cannot be written ({error})")) from error


def _fetch_first(client: httpx.Client, wanted: _Wanted, paths: tuple[str, ...], target: Path) -> None:
    """The first of the paths that the hub has, whole or not at all."""
    for path in paths:
        with client.stream("GET", wanted.url(path)) as response:
            if response.status_code == 404 and path != paths[-1]:
                continue
            _check(response, wanted, " or ".join(paths))
            _write(response, wanted, target)
            return


def _check(response: httpx.Response, wanted: _Wanted, path: str) -> None:
    status = response.status_code
    if status in NOT_FOR_US:
        raise Misconfigured(
            wanted.failure(f"it answers {status} to {path}; check rerank.model, and that the model is public")
        )
    if status != 200:
        raise Unavailable(wanted.failure(f"it answers {status} to {path}"))
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise Unavailable(wanted.failure(f"it answers with a web page instead of {path}"))


def _write(response: httpx.Response, wanted: _Wanted, target: Path) -> None:
    draft = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        with draft.open("xb") as file:
            for part in response.iter_bytes():
                if file.tell() + len(part) > wanted.largest_bytes:
                    raise Misconfigured(wanted.failure(f"{target.name} is over {wanted.largest_bytes} bytes"))
                if time.monotonic() > wanted.ends_at:
                    raise Unavailable(wanted.failure("it takes too long"))
                file.write(part)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
