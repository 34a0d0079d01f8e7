"""Gathers what the policy has to know about the documents of a source, and applies what it decides to stored ones."""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from citewise.errors import BadData, BadRequest, Misconfigured
from citewise.ingest.moves import Gone, GoneTexts, is_there
from citewise.ingest.policy import Rules, Ruling, at_or_above, decided, with_held
from citewise.ingest.targets import Target
from citewise.model.access import PUBLIC, Access
from citewise.model.document import Item, KnownDocument, SaidRule, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import Digest, document_id
from citewise.model.report import AccessNote
from citewise.ports.catalog import Catalog, DocumentWrite

_AT_ONCE = 64  # documents that are rewritten together
_LOOKED_AT = 200  # new files that are read beforehand to find out which folder was moved
_WIDEN = "open it with --access RULE --widen"


@dataclass(frozen=True, slots=True)
class _Neighbor:
    """Another folder of the scope that is a source: it may hold the same files."""

    source: SourceRef
    folder: Path
    root: Path  # of the source that is ingested
    rules: Rules

    def path_of(self, path: str) -> str | None:
        """The path there of a file of the source that is ingested."""
        return _moved(path, self.root, self.folder)

    def holds(self, document: str, *aliases: str) -> bool:
        """Whether the file of a document from there, or a link to it, is a file of the source that is ingested."""
        names = (self.source.inner(document), *aliases)
        return any(_moved(name, self.folder, self.root) is not None for name in names)


def _moved(path: str, old: Path, new: Path) -> str | None:
    """The path of a file below another root, if it is there."""
    full = old / path
    return full.relative_to(new).as_posix() if full.is_relative_to(new) else None


class Rulings:
    """Decides for one source, and remembers what has to be reported and held."""

    def __init__(self, catalog: Catalog, target: Target) -> None:
        self._catalog = catalog
        self._target = target
        self._scope = target.scope
        self._source = target.source
        self._rules = Rules(target.source)
        self._neighbors = [_Neighbor(ref, folder, target.root, Rules(ref)) for ref, folder in target.others]
        before = () if target.before is None else target.before.access
        self._new = [said for said in target.source.access if said not in before]
        self.tightened: dict[str, int] = {}  # documents that were given a narrower rule, and how many chunks they have
        self._listed: Mapping[str, Item] = {}  # what the source has now, by path
        self._held: dict[str, SaidRule] = {}
        self._notes: dict[str, AccessNote] = {}

    def of(
        self,
        path: str,
        *,
        own: tuple[str, ...],
        known: KnownDocument | None,
        item: Item | None = None,  # None: its file is not looked at
        texts: frozenset[Digest] | None = None,  # content hashes of its chunks; None: they are those that are stored
    ) -> Ruling:
        """Who may read the document at a path of the source. Raises BadRequest for an invalid rule of its own."""
        stands, aliases = self._stands(path), item.aliases if item else known.aliases if known else ()
        past = [*self._text_before(path, known, texts)] if texts and self._gone else []
        if known is not None and not self._is_widened(path):
            past.append((known.access, f"it was for {known.access} before: {_WIDEN}"))
        elif known is None and item is not None:
            past += self._file_before(item)
        ruling = decided(stands, narrowing=self._narrowing(path, aliases, item), own=own, past=past)
        if ruling.held is not None:
            self._held[path] = SaidRule(path, tuple(sorted(ruling.held.readers)), "held", reason=ruling.reason)
        said = self._target.said if self._target.part in at_or_above(path) else None
        if said is not None and stands != said:
            ruling = replace(ruling, reason=f"its rule was {stands} before: {_WIDEN}; {ruling.reason}".rstrip("; "))
        if ruling.reason:
            self._note(self._source.mounted(path), said or stands, ruling)
        return ruling

    def tighten(self) -> None:
        """Apply new rules to what the library has, without its files; nothing is widened."""
        if not self._new:
            return
        changed = dict(self._tightened(self._catalog.paths(self._scope, mount=self._source.mount)))
        for neighbor in self._neighbors:
            paths = self._catalog.paths(self._scope, mount=neighbor.source.mount)
            if shared := [path for path, known in self._stored(paths) if neighbor.holds(path, *known.aliases)]:
                there = Rulings(self._catalog, self._target.seen_from(neighbor.source, neighbor.folder))
                changed |= there._tightened(shared)
                self._notes |= {path: there._notes[path] for path in changed.keys() & there._notes.keys()}
        self._rewrite(changed)

    def unreached(self) -> Iterator[AccessNote]:
        """The stored documents of what was given another rule in this run that others may read all the same."""
        said, under = self._target.said, self._source.mounted(self._target.part)
        if said is None or not self._new or self._target.before is None:
            return
        for path, known in self._stored(self._catalog.paths(self._scope, under=under, mount=self._source.mount)):
            if not known.access.is_within(self._stands(self._source.inner(path))):
                yield AccessNote(path, str(said), str(known.access), "its rule could not be changed", is_reached=False)

    def notes(self, removed: Collection[str]) -> tuple[AccessNote, ...]:
        """The documents whose rule is not what was said, and why."""
        kept = {path: note for path, note in self._notes.items() if path not in removed}
        return tuple({**kept, **{note.path: note for note in self.unreached()}}.values())

    def remembered(self, removed: Collection[str]) -> SourceRef:
        """The source with what is held from now on. What is gone is recognized by its text, should it come back."""
        gone = {self._source.inner(path) for path in removed}
        kept = [rule for rule in self._source.access if rule.how != "held" or rule.part not in gone]
        return with_held(replace(self._source, access=tuple(kept)), self._held.values())

    def carry(self, items: Iterable[Item], texts_of: Callable[[Item], frozenset[Digest]]) -> None:
        """Hold the rules of a folder that was moved for all that is in it now, before any of it is stored."""
        self._listed = {item.path: item for item in items}
        root = self._rules.of("") or Access()
        if all(gone.folder is None or root.is_within(gone.access) for gone in self._gone):
            return
        stored = {self._source.inner(path) for path in self._catalog.paths(self._scope, mount=self._source.mount)}
        for item in [item for path, item in self._listed.items() if path not in stored][:_LOOKED_AT]:
            if not self._held.keys().isdisjoint(at_or_above(item.path)):
                continue
            try:
                found = self._gone_texts.of(texts_of(item))
            except (BadData, BadRequest):  # it is reported when its turn comes
                continue
            carried = [rule for gone in found for rule in gone.carried_to(item.path)]
            self._held |= {rule.part: rule for rule in carried if self._is_narrower(rule)}
        self._rules = Rules(with_held(self._source, self._held.values()))

    def close_copies(self, removed: Collection[str]) -> None:
        """Close later copies of documents that are removed: a file may be copied in a run, and deleted in the next."""
        closed = {path: known for path, known in self._stored(removed) if PUBLIC not in known.access.readers}
        texts = self._catalog.texts(self._scope, closed)
        gone_texts = GoneTexts(Gone(path, closed[path].access, of_path) for path, of_path in texts.items())
        if not gone_texts:
            return
        copies = [path for path in self._catalog.paths_with(self._scope, [*gone_texts.texts]) if path not in removed]
        changed, of_copies = dict[str, Ruling](), self._catalog.texts(self._scope, copies)
        for path, copy in self._stored(copies):
            for gone in gone_texts.of(of_copies[path]):
                is_later = copy.created_at > closed[gone.path].created_at
                if is_later and not copy.access.is_within(gone.access) and not self._was_widened(path):
                    changed[path] = Ruling(copy.access.narrowed(gone.access), gone.reason)
                    self._note(path, copy.access, changed[path])
        self._rewrite(changed)

    def _note(self, document: str, said: Access, ruling: Ruling) -> None:
        self._notes[document] = AccessNote(document, str(said), str(ruling.access), ruling.reason)

    def _stands(self, path: str) -> Access:
        """What was said of a path so far."""
        return self._rules.of(path, but=("held",)) or Access()

    def _narrowing(self, path: str, aliases: Iterable[str], item: Item | None) -> Iterator[tuple[Access, str]]:
        yield from ((rule.access, rule.reason) for rule in self._rules.held(path))
        for alias in aliases:
            rule = self._rules.of(alias) or Access()
            yield rule, f"the same file as {self._source.mounted(alias)}, which is for {rule}"
        there = [(neighbor, neighbor.path_of(name)) for neighbor in self._neighbors for name in (path, *aliases)]
        for neighbor, name in (*there, *(self._linked(item) if item else ())):
            if name is not None and (said := neighbor.rules.of(name, but=("default",))):
                yield said, f"the same file as {neighbor.source.mounted(name)}, which is for {said}"

    def _is_widened(self, path: str) -> bool:
        """Whether somebody said in this run, in words, that more may read it."""
        if self._target.widen and self._target.part in at_or_above(path):
            return True
        return any(said.widens and said in self._new for said in self._rules.covering(path))

    def _was_widened(self, document: str) -> bool:
        """Whether somebody once said in words that more may read just this document."""
        sources = (self._source, *(neighbor.source for neighbor in self._neighbors))
        widened = {source.mounted(said.part) for source in sources for said in source.access if said.widens}
        return document in widened

    def _is_narrower(self, rule: SaidRule) -> bool:
        """Whether a rule of a folder that was moved says more than those of its new place, where nothing was before."""
        stands, under = self._rules.of(rule.part) or Access(), self._source.mounted(rule.part)
        is_used = self._catalog.paths(self._scope, under=under, mount=self._source.mount)
        return not is_used and not stands.is_within(rule.access) and not self._is_widened(rule.part)

    def _file_before(self, item: Item) -> Iterator[tuple[Access, str]]:
        """What the library has of the same file from other sources."""
        names = (item.path, *item.aliases)
        there = ((neighbor, neighbor.path_of(name)) for neighbor in self._neighbors for name in names)
        documents = {neighbor.source.mounted(path) for neighbor, path in there if path is not None}
        documents |= {neighbor.source.mounted(path) for neighbor, path in self._linked(item)}
        for document, known in self._stored(documents):
            yield known.access, f"the same file as {document}, which is for {known.access}"

    def _linked(self, item: Item) -> list[tuple[_Neighbor, str]]:
        """The documents of other sources that are hard links to the same file, by their paths there."""
        try:
            status = os.stat(self._target.root / item.path) if item.is_linked else None
        except OSError:  # it is reported when it is read
            status = None
        return self._by_file.get((status.st_dev, status.st_ino), []) if status else []

    @cached_property
    def _by_file(self) -> Mapping[tuple[int, int], list[tuple[_Neighbor, str]]]:
        """The documents of other sources by the files they came from."""
        found = defaultdict(list)
        for neighbor in self._neighbors:
            for document in self._catalog.paths(self._scope, mount=neighbor.source.mount):
                path = neighbor.source.inner(document)
                try:
                    status = os.stat(neighbor.folder / path)
                except OSError:
                    continue
                found[status.st_dev, status.st_ino].append((neighbor, path))
        return found

    def _text_before(
        self, path: str, known: KnownDocument | None, texts: frozenset[Digest]
    ) -> Iterator[tuple[Access, str]]:
        """The rules of documents that are gone, and whose text this is."""
        document = self._source.mounted(path)
        old = self._catalog.texts(self._scope, [document]).get(document, frozenset()) if known else frozenset()
        for gone in self._gone_texts.of(texts - old):
            is_ours = gone.rules is self._rules
            if not self._is_widened(path) or (is_ours and self._is_widened(gone.inner)):
                yield gone.access, gone.reason

    @cached_property
    def _gone_texts(self) -> GoneTexts:
        return GoneTexts(self._gone)

    @cached_property
    def _gone(self) -> list[Gone]:
        """Documents that not everybody could read, and whose files are not where they were."""
        gone = [Gone(each.path, each.access, each.texts) for each in self._catalog.departed(self._scope)]
        is_folder = self._source.kind == "folder"
        gone += self._gone_from(self._rules, partial(is_there, self._target.root) if is_folder else self._is_listed)
        for neighbor in self._neighbors:
            gone += self._gone_from(neighbor.rules, partial(is_there, neighbor.folder))
        return gone

    def _is_listed(self, inner: str) -> bool:
        return not self._listed.keys().isdisjoint(at_or_above(inner))

    def _gone_from(self, rules: Rules, has_file: Callable[[str], bool]) -> Iterator[Gone]:
        source = rules.source
        documents = {path: source.inner(path) for path in self._catalog.paths(self._scope, mount=source.mount)}
        missing = {path: inner for path, inner in documents.items() if not has_file(inner)}
        left = {part for path, inner in documents.items() if path not in missing for part in at_or_above(inner)}
        texts = self._catalog.texts(self._scope, missing)
        for path, known in self._stored(missing):
            inner = missing[path]
            if PUBLIC in known.access.readers or path not in texts:
                continue
            is_widened = rules is self._rules and self._is_widened(inner)
            access = rules.of(inner) or known.access if is_widened else known.access
            moved = next((part for part in reversed(at_or_above(inner)[1:]) if part not in left), None)
            yield Gone(path, access, texts[path], inner, moved if moved or rules is not self._rules else None, rules)

    def _stored(self, documents: Collection[str]) -> list[tuple[str, KnownDocument]]:
        return sorted(self._catalog.stamps(self._scope, documents).items()) if documents else []

    def _tightened(self, documents: Sequence[str]) -> Iterator[tuple[str, Ruling]]:
        """What is decided anew about stored documents, where it is narrower."""
        for document, known in self._stored(documents):
            ruling = self.of(self._source.inner(document), own=known.own_access, known=known)
            access = ruling.access.narrowed(known.access)
            if not known.access.is_within(access):
                yield document, replace(ruling, access=access)

    def _rewrite(self, rulings: Mapping[str, Ruling]) -> None:
        where, waiting = Where(self._scope, None), [*rulings]
        for start in range(0, len(waiting), _AT_ONCE):
            writes = []
            for path in waiting[start : start + _AT_ONCE]:
                access, id_ = rulings[path].access, document_id(self._scope, path)
                try:
                    document, chunks = self._catalog.document(where, id_), self._catalog.chunks(where, id_)
                except Misconfigured:  # it is damaged, so nobody is shown it; reported as not reached
                    continue
                if document is not None:
                    document = replace(document, access=access, access_reason=rulings[path].reason)
                    writes.append(DocumentWrite(document, tuple(chunk.with_access(access) for chunk in chunks)))
                    self.tightened[path] = len(chunks)
            self._catalog.store(writes)
