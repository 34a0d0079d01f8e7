"""A model by its name on the Hugging Face hub: downloaded once into a cache, then never asked for again."""

import os
import re
from pathlib import Path

from citewise.adapters.http import within
from citewise.errors import Misconfigured, Unavailable

NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._-]{0,95}/[A-Za-z0-9_][A-Za-z0-9._-]{0,95}")
ENDPOINT = re.compile(r"https?://(?:[^/@]*@)?(?P<host>[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d+)?(?:/.*)?")
COMPLETE = ".complete"  # written last: a folder without it is downloaded again


def downloaded(name: str, cache: Path, *, deadline_seconds: float = 900.0, max_bytes: int = 2**31) -> Path:
    """The folder with the model's files; the network is used only the first time.

    The deadline is for all files together; `max_bytes` is for one, and ONNX itself can hold no more.
    """
    if not NAME.fullmatch(name):
        raise Misconfigured(
            f"rerank.model is {name[:200]!r}, which is not a name on the hub: write owner/name, for example "
            "cross-encoder/ms-marco-MiniLM-L-6-v2. For a model of your own set rerank.path to its folder."
        )
    folder = cache / "hub" / name
    if not (folder / COMPLETE).is_file():
        endpoint = ENDPOINT.fullmatch(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
        if endpoint is None:
            raise Misconfigured("HF_ENDPOINT is not a valid URL: unset it, or start it with https://")
        try:
            within(deadline_seconds, lambda: _download(name, folder, endpoint[0], max_bytes))
        except Exception as error:
            kind, why = _reason(error)
            raise kind(  # the host only, as an endpoint's address may have a password
                f"The reranking model {name} cannot be downloaded from {endpoint['host']}: {why}. Try again, or "
                "download its tokenizer.json and onnx/model.onnx on a machine with network, put both into one folder "
                "and set rerank.path to it."
            ) from error
        (folder / COMPLETE).touch()
    return folder


def _download(name: str, folder: Path, endpoint: str, max_bytes: int) -> None:
    # Imported here: it takes half a second, and most runs download nothing.
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.errors import RemoteEntryNotFoundError

    def download(file: str) -> None:
        # Asked first: a download tries a hub that is not there for half a minute. No token: it would go to whatever
        # HF_ENDPOINT names.
        size = get_hf_file_metadata(hf_hub_url(name, file, endpoint=endpoint), token=False).size
        if size is not None and size > max_bytes:
            raise Misconfigured(f"{file} is over {max_bytes} bytes")
        hf_hub_download(name, file, local_dir=folder, endpoint=endpoint, token=False)

    folder.mkdir(parents=True, exist_ok=True)
    download("tokenizer.json")
    try:
        download("onnx/model.onnx")
    except RemoteEntryNotFoundError:
        download("model.onnx")


def _reason(error: Exception) -> tuple[type[Misconfigured | Unavailable], str]:
    """Whose failure of a download it is, and why it failed."""
    from huggingface_hub.errors import FileMetadataError, HfHubHTTPError, LocalEntryNotFoundError

    if isinstance(error, Misconfigured):
        return Misconfigured, str(error)
    if isinstance(error, TimeoutError):
        return Unavailable, "it takes too long"
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        if status in (401, 403, 404):  # the hub says 401 also for a name that nobody has
            return Misconfigured, f"it answers {status}; check rerank.model, and that the model is public"
        return Unavailable, f"it answers {status}"
    if isinstance(error, OSError) and not isinstance(error, LocalEntryNotFoundError | FileMetadataError):
        return Unavailable, f"the cache cannot be written ({error})"
    return Unavailable, f"it cannot be reached, or is no hub ({type(error).__name__})"
