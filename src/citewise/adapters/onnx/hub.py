"""A model by its name on the Hugging Face hub: downloaded once into a cache, then never asked for again."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from citewise.adapters.http import within
from citewise.errors import CitewiseError, Misconfigured, Unavailable

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}/[A-Za-z0-9_][A-Za-z0-9._-]{0,95}")
COMPLETE = ".complete"  # written last: a folder without it is downloaded again
FILES = (("tokenizer.json",), ("onnx/model.onnx", "model.onnx"))  # and where else the hub may have it


def downloaded(name: str, cache: Path, *, deadline_seconds: float = 900.0, max_bytes: int = 2**31) -> Path:
    """The folder with the model's files; the network is used only the first time.

    The deadline is for all files together; `max_bytes` is for one, and ONNX itself can hold no more.
    """
    if not NAME.fullmatch(name) or ".." in name:
        raise Misconfigured(
            f"rerank.model is {name[:200]!r}, which is not a name on the hub: write owner/name, for example "
            "cross-encoder/ms-marco-MiniLM-L-6-v2. For a model of your own set rerank.path to its folder."
        )
    folder = cache / "hub" / name
    if not (folder / COMPLETE).is_file():
        try:
            within(deadline_seconds, lambda: _download(name, folder, max_bytes))
        except TimeoutError as error:
            raise Unavailable(_message(name, "it takes too long")) from error
        (folder / COMPLETE).touch()
    return folder


def _download(name: str, folder: Path, max_bytes: int) -> None:
    # Imported here: it takes half a second, and most runs download nothing.
    from huggingface_hub import errors

    endpoint = _endpoint()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for paths in FILES:
            _download_first(name, paths, folder, endpoint=endpoint, max_bytes=max_bytes)
    except CitewiseError:
        raise
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        if status in (401, 403, 404):  # the hub says 401 also for a name that nobody has
            why = f"it answers {status}; check rerank.model, and that the model is public"
            raise Misconfigured(_message(name, why)) from error
        raise Unavailable(_message(name, f"it answers {status}")) from error
    except (errors.LocalEntryNotFoundError, errors.FileMetadataError) as error:
        raise Unavailable(_message(name, "it cannot be reached, or is no hub")) from error
    except OSError as error:
        raise Unavailable(_message(name, f"the cache cannot be written ({error})")) from error
    except Exception as error:  # of whatever HTTP library it uses
        raise Unavailable(_message(name, f"it cannot be reached ({type(error).__name__})")) from error


def _download_first(name: str, paths: Sequence[str], folder: Path, *, endpoint: str, max_bytes: int) -> None:
    """The first of the paths that the hub has."""
    from huggingface_hub import errors, get_hf_file_metadata, hf_hub_download, hf_hub_url

    for path in paths:
        try:
            # No token: it would go to whatever HF_ENDPOINT names.
            found = get_hf_file_metadata(hf_hub_url(name, path, endpoint=endpoint), token=False)
            if found.size is not None and found.size > max_bytes:
                raise Misconfigured(_message(name, f"{path} is over {max_bytes} bytes"))
            hf_hub_download(name, path, local_dir=folder, endpoint=endpoint, token=False)
            return
        except errors.RemoteEntryNotFoundError:
            if path == paths[-1]:
                raise


def _endpoint() -> str:
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    try:
        parts = urlsplit(endpoint)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise Misconfigured("HF_ENDPOINT is no address to download a model from: unset it, or start it with https://")
    return endpoint


def _message(name: str, why: str) -> str:
    """For a person; the host only, as an endpoint's address may have a password."""
    return (
        f"The reranking model {name} cannot be downloaded from {urlsplit(_endpoint()).hostname}: {why}. Try again, or "
        "download its tokenizer.json and onnx/model.onnx on a machine with network, put both into one folder and set "
        "rerank.path to it."
    )
