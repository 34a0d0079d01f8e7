"""Text that is gone from its place and comes back elsewhere, and folders that were moved."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from citewise.ingest.policy import Rules, at_or_above
from citewise.model.access import Access
from citewise.model.document import AccessRule, RemovedText
from citewise.model.ids import Digest

MAX_HOLDERS = 20  # documents with the same chunk: what more of them have is boilerplate, and tells nothing of a move
_SAME_NAMES = 20  # missing files of one name that a new file is compared with

Texts = frozenset[Digest]


def shares_half(texts: Texts, other: Texts) -> bool:
    """Whether two documents have half of the chunks of one of them in common."""
    return 2 * len(texts & other) >= min(len(texts), len(other)) > 0


def gone_reason(path: str, access: Access) -> str:
    """Why a document is closed that has the text of another."""
    return f"its text was in {path}, which is gone and was for {access}"


def shares_words(old: str, new: str) -> bool:
    """Whether half of the words of a text are still there: it was edited, and not replaced by another."""
    words = Counter(old.split())
    return 2 * (words & Counter(new.split())).total() >= words.total() > 0


def has_moved(texts: Texts, removed: Texts, *, known: Texts, kept: Texts) -> bool:
    """Whether a document has the text of one that is gone: all of it, or half of what is gone for good.

    `known`: what others could read before. `kept`: what still stands where it was closed, such as a common footer.
    """
    texts, removed = texts - known, removed - known
    return bool(texts) and (texts == removed or shares_half(texts - kept, removed - kept))


class RemovedTexts:
    """Finds texts that were removed, by the chunks they had and by their paths."""

    def __init__(self, removed: Iterable[RemovedText]) -> None:
        self._by_text: Mapping[Digest, set[RemovedText]] = defaultdict(set)
        self._by_path: Mapping[str, list[RemovedText]] = defaultdict(list)
        for each in removed:
            self.add(each)

    def add(self, removed: RemovedText) -> None:
        self._by_path[removed.path].append(removed)
        for text in removed.texts:
            self._by_text[text].add(removed)

    def at(self, path: str) -> list[RemovedText]:
        """Those that a document had at this path."""
        return self._by_path.get(path, [])

    def of(self, texts: Iterable[Digest]) -> set[RemovedText]:
        """Those that share a chunk with these."""
        return {removed for text in texts for removed in self._by_text.get(text, ())}


@dataclass(frozen=True, slots=True)
class MovedFolder:
    """A folder whose files have another place now, by their names: old path and new path of each."""

    old: str
    new: str
    files: tuple[tuple[str, str], ...]

    def rules(self, rules: Rules) -> Iterator[AccessRule]:
        """The rules of the old folder, for the new one: those of parts, and those of a new file by patterns."""
        suffix = PurePosixPath(self.files[0][0]).suffix
        whole = rules.of("/".join(filter(None, (self.old, f"new{suffix}")))) or Access()
        place = rules.source.mounted(self.old) or rules.source.place
        for part, access in [(self.old, whole), *((rule.part, rule.access) for rule in rules.below(self.old))]:
            new = "/".join(filter(None, (self.new, part[len(self.old) :].strip("/"))))
            readers = tuple(sorted(access.readers))
            yield AccessRule(new, readers, "inherited", reason=f"moved here from {place}, which was for {access}")


def moved_folders(stored: Iterable[str], missing: Iterable[str], new: Iterable[str]) -> list[MovedFolder]:
    """The folders of which more than half of the stored files are missing, and are new below another folder; the outer
    ones first. Of `missing` only files whose names a new one has are needed."""
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
    if not pairs:
        return []
    sizes = Counter(folder for path in stored for folder in at_or_above(path)[1:])
    moved = [MovedFolder(*folders, tuple(files.items())) for folders, files in pairs.items()]
    return sorted((each for each in moved if 2 * len(each.files) > sizes[each.old]), key=lambda each: len(each.new))


def file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _ends(path: str) -> list[str]:
    """The ends of a path, the longest first: a/b/c, b/c and c."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]
