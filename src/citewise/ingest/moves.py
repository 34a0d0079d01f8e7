"""Documents whose text is gone from their place, and where it comes back; names alone decide nothing."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from citewise.ingest.policy import Rules, at_or_above
from citewise.model.access import Access
from citewise.model.document import SaidRule
from citewise.model.ids import Digest

_SAME_NAMES = 20  # missing files of one name that a new file is compared with


@dataclass(frozen=True, slots=True)
class Gone:
    """A document whose text is not in its place any more."""

    path: str
    access: Access
    texts: frozenset[Digest]

    @property
    def reason(self) -> str:
        return f"its text was in {self.path}, which is gone and was for {self.access}"


def shares_half(texts: frozenset[Digest], other: frozenset[Digest]) -> bool:
    """Whether two documents have half of the chunks of one of them in common."""
    return 2 * len(texts & other) >= min(len(texts), len(other)) > 0


class GoneTexts:
    """Finds the documents that are gone by the text they had."""

    def __init__(self, gone: Iterable[Gone]) -> None:
        self._by_text: Mapping[Digest, list[Gone]] = defaultdict(list)
        unique = {(each.texts, each.access): each for each in gone}
        for each in unique.values():
            for text in each.texts:
                self._by_text[text].append(each)

    def __bool__(self) -> bool:
        return bool(self._by_text)

    @property
    def texts(self) -> Collection[Digest]:
        return self._by_text.keys()

    def of(self, texts: frozenset[Digest]) -> list[Gone]:
        """Those that have half of these chunks, or half of theirs here; of equal ones one for each rule."""
        found = {id(gone): gone for text in texts for gone in self._by_text.get(text, ())}
        return [gone for gone in found.values() if shares_half(texts, gone.texts)]


@dataclass(frozen=True, slots=True)
class MovedFolder:
    """A folder whose files have another place now, by their names: old path and new path of each."""

    old: str
    new: str
    files: tuple[tuple[str, str], ...]

    def carried(self, rules: Rules) -> Iterator[SaidRule]:
        """The rules of the old folder, for the new one: those of parts, and those of a new file by patterns."""
        suffix = PurePosixPath(self.files[0][0]).suffix
        whole = rules.of("/".join(filter(None, (self.old, f"new{suffix}")))) or Access()
        place = rules.source.mounted(self.old) or rules.source.place
        for part, access in [(self.old, whole), *((said.part, said.access) for said in rules.below(self.old))]:
            new = "/".join(filter(None, (self.new, part[len(self.old) :].strip("/"))))
            readers = tuple(sorted(access.readers))
            yield SaidRule(new, readers, "held", reason=f"moved here from {place}, which was for {access}")


def moved_folders(stored: Iterable[str], missing: Collection[str], new: Iterable[str]) -> list[MovedFolder]:
    """The folders of which more than half of the stored files are missing, and are new below another folder; the outer
    ones first."""
    by_end = defaultdict(list)
    for path in missing:
        for end in _ends(path):
            by_end[end].append(path)
    pairs: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for path in new:
        longest = next((end for end in _ends(path) if end in by_end), None)
        for old in by_end.get(longest or "", ())[:_SAME_NAMES]:
            for end in (each for each in _ends(path) if len(each) <= len(longest or "")):
                folders = old[: -len(end)].rstrip("/"), path[: -len(end)].rstrip("/")
                pairs[folders].setdefault(old, path)
    sizes = Counter(folder for path in stored for folder in at_or_above(path)[1:])
    moved = [MovedFolder(*folders, tuple(files.items())) for folders, files in pairs.items()]
    return sorted((each for each in moved if 2 * len(each.files) > sizes[each.old]), key=lambda each: len(each.new))


def _ends(path: str) -> list[str]:
    """The ends of a path, the longest first: a/b/c, b/c and c."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]
