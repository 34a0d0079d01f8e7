"""What a run was made with: settings that were chosen, and the commit of citewise itself."""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path

import citewise
from citewise.model.access import OWNER, Principal
from citewise.settings import Settings

PATIENCE_SECONDS = 5.0  # for git
_PLACES = ("library", "cache")  # differ from machine to machine, and change no result


def settings_used(
    settings: Settings, *, model: str, generator: str | None, principal: Principal = OWNER
) -> Mapping[str, object]:
    """The names of what decides most, who asked if not the owner, then every setting that is not as it comes."""
    ours, defaults = dict(_flat(settings)), dict(_flat(Settings()))
    chosen = {name: value for name, value in ours.items() if value != defaults.get(name)}
    return {
        "citewise": version("citewise"),
        "embedding": model,
        "fusion": settings.search.fusion,
        "reranker": settings.rerank.model or settings.rerank.path or settings.rerank.provider,
        "generator": generator,
        **({} if principal.owns_library else {"user": principal.user, "groups": sorted(principal.groups)}),
        **chosen,
    }


def _flat(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Settings by their dotted names, as JSON would have them."""
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{value!r} is no settings tree")
    for each in fields(value):
        inner = getattr(value, each.name)
        if prefix == "" and each.name in _PLACES:
            continue
        if is_dataclass(inner) and not isinstance(inner, type):
            yield from _flat(inner, f"{prefix}{each.name}.")
        else:
            yield f"{prefix}{each.name}", _plain(each.name, inner)


def _plain(name: str, value: object) -> object:
    if name == "base_url":
        return str(value).rpartition("@")[2]  # somebody may have put a password in front
    if isinstance(value, str | int | float) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain("", inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_plain("", inner) for inner in value]
    return str(value)


def commit() -> str | None:
    """The commit that citewise runs from, with "-dirty" where its code is not just that; None outside a checkout."""
    package = Path(citewise.__file__).resolve().parent
    root = package.parents[1]
    if package.parent.name != "src" or not (root / ".git").exists():
        return None
    head = _git(root, "rev-parse", "HEAD")
    if head is None:
        return None
    return f"{head}-dirty" if _git(root, "status", "--porcelain", "--", "src") else head


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
