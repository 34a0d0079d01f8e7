"""Documents whose files are gone, and where their text comes back: a name decides nothing about who may read it."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from citewise.ingest.policy import Rules, at_or_above
from citewise.model.access import Access
from citewise.model.document import SaidRule
from citewise.model.ids import Digest


@dataclass(frozen=True, slots=True)
class Gone:
    """A document whose file is gone, and, if a folder went with it, that folder and its rules."""

    path: str
    access: Access
    texts: frozenset[Digest]
    inner: str = ""  # its path in its source
    folder: str | None = None  # the outermost folder above it that is gone ("": all of its source)
    rules: Rules | None = None  # of its source

    @property
    def reason(self) -> str:
        return f"its text was in {self.path}, which is gone and was for {self.access}"

    def carried_to(self, path: str) -> Iterator[SaidRule]:
        """The rules of its folder, for the folder where its file is now."""
        rest = self.inner[len(self.folder) :].lstrip("/") if self.folder is not None else ""
        if not rest or self.rules is None or not (path == rest or path.endswith(f"/{rest}")):
            return
        old, new = self.folder or "", path[: -len(rest)].rstrip("/")
        place = self.rules.source.mounted(old) or self.rules.source.place
        for rule in self.rules.at_or_below(old):
            part = "/".join(filter(None, (new, rule.part[len(old) :].strip("/"))))
            yield SaidRule(part, rule.readers, "held", reason=f"moved here from {place}, which was for {rule.access}")


class GoneTexts:
    """Finds the documents that are gone by the text they had."""

    def __init__(self, gone: Iterable[Gone]) -> None:
        self._by_text: Mapping[Digest, list[Gone]] = defaultdict(list)
        self._same: dict[frozenset[Digest], dict[tuple[Access, Rules | None], Gone]] = defaultdict(dict)
        for each in gone:
            self._same[each.texts].setdefault((each.access, each.rules), each)
        for alike in self._same.values():
            for each in alike.values():
                for text in each.texts:
                    self._by_text[text].append(each)

    def __bool__(self) -> bool:
        return bool(self._same)

    @property
    def texts(self) -> Iterable[Digest]:
        return self._by_text.keys()

    def of(self, texts: frozenset[Digest]) -> list[Gone]:
        """Those with the same chunks, half of theirs or half of these; of equal ones one for each rule and source."""
        shared = Counter(id(gone) for text in texts for gone in self._by_text.get(text, ()))
        found = {id(gone): gone for text in texts for gone in self._by_text.get(text, ())}
        return [found[key] for key, count in shared.items() if 2 * count >= min(len(texts), len(found[key].texts))]


def is_there(folder: Path, path: str) -> bool:
    """Whether the file of a document is there; one that holds several documents is the beginning of their paths."""
    names = at_or_above(path)[:-1]
    return os.path.lexists(folder / path) or any(os.path.isfile(folder / name) for name in names)
