"""The Docusaurus site that shows the files of a folder: its configuration is looked for there and beside it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from citewise.adapters.folder.source import read_below
from citewise.errors import BadData
from citewise.model.document import SITE, FileProblem, Json
from citewise.text.docusaurus import NAMES, published_docs

MAX_CONFIG_BYTES = 200_000  # those of large sites have 40,000
_PLACES = ("", "website", "..", "../website")  # from the folder that is ingested


@dataclass(frozen=True, slots=True)
class Site:
    """Where files of a source are published."""

    docs: tuple[tuple[str, str, str], ...]  # how paths in the source begin, and what that is below the docs' URL

    def metadata(self, path: str) -> Mapping[str, Json]:
        """What is known of the file at a path of the source; nothing if the site does not show it."""
        fitting = [place for place in self.docs if path.startswith(place[0])]
        if not fitting:
            return {}
        start, inner, url = max(fitting, key=lambda place: (len(place[0]), -len(place[1])))  # the innermost docs
        return {SITE: {"url": url, "path": f"{inner}{path.removeprefix(start)}"}}


def site_of(root: str | os.PathLike[str]) -> Site | FileProblem | None:
    """The site of a source at this folder, why its configuration says none, or None where there is no configuration."""
    folder = os.path.realpath(root)
    for place in _PLACES:
        # From the folder that is known to be real, so that no link leads out of it.
        base, prefix = (os.path.dirname(folder), "../") if place.startswith("..") else (folder, "")
        inner = place.removeprefix("..").strip("/")
        for name in NAMES:
            if os.path.lexists(os.path.join(base, inner, name)):
                path = os.path.join(inner, name)
                try:
                    return _site(base, path, folder)
                except (BadData, OSError) as error:
                    advice = "set citations.sites to link to pages"
                    return FileProblem(f"{prefix}{path}", f"no site is known: {error}; {advice}", is_warning=True)
    return None


def _site(base: str, path: str, root: str) -> Site:
    config = read_below(base, path, limit=MAX_CONFIG_BYTES).decode("utf-8", "replace")
    folder = os.path.dirname(os.path.join(base, path))
    docs = {os.path.join(folder, part): url for part, url in published_docs(config, os.listdir(folder)).items()}
    return Site(
        tuple((_below(place, root), _below(root, place), url) for place, url in docs.items() if _meet(place, root))
    )


def _below(folder: str, other: str) -> str:
    """How paths in the other folder begin if they are in this one; empty if it is the same, or the outer one."""
    path = os.path.relpath(folder, other)
    return "" if path.startswith("..") or path == "." else f"{path}/"


def _meet(folder: str, other: str) -> bool:
    return os.path.commonpath((os.path.normpath(folder), other)) in (os.path.normpath(folder), other)
