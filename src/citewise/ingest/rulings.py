"""Gathers what the policy has to know about the documents of a source, and applies what it decides to stored ones."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from citewise.errors import Misconfigured
from citewise.ingest.files import Files, Neighbor
from citewise.ingest.moves import Gone, GoneTexts, MovedFolder, moved_folders, shares_half
from citewise.ingest.policy import Rules, Ruling, at_or_above, decided, with_held
from citewise.ingest.targets import Target
from citewise.model.access import PUBLIC, Access
from citewise.model.document import Departed, Item, KnownDocument, SaidRule, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import Digest, document_id
from citewise.model.report import AccessNote
from citewise.ports.catalog import Catalog, DocumentWrite

_AT_ONCE = 64  # documents that are rewritten together
_COMPARED = 10  # files of a folder that may have been moved whose text is compared
_WIDEN = "open it with --access RULE --widen"


class Rulings:
    """Decides for one source, and remembers what has to be reported and held."""

    def __init__(self, catalog: Catalog, target: Target, files: Files) -> None:
        self._catalog = catalog
        self._target = target
        self._files = files
        self._scope = target.scope
        self._source = target.source
        self._rules = Rules(target.source)
        before = () if target.before is None else target.before.access
        self._new = [said for said in target.source.access if said not in before]
        self.tightened: dict[str, int] = {}  # documents that were given a narrower rule, and how many chunks they have
        self._narrowed: dict[str, tuple[Access, str]] = {}  # copies that were closed in this run
        self._replaced: list[tuple[Gone, float]] = []  # documents that have another text now, and since when they are
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
        document, is_widened = self._source.mounted(path), self._is_widened(path)
        past = [self._narrowed[document]] if document in self._narrowed else []
        if texts and item:
            past += self._text_before(item, path, known, texts)
        if known is not None and not is_widened:
            past.append((known.access, f"it was for {known.access} before: {_WIDEN}"))
        if item is not None and not is_widened and (known is None or texts):
            past += self._file_before(item)
        ruling = decided(stands, narrowing=self._narrowing(path, aliases), own=own, past=past)
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
        for neighbor in self._files.neighbors:
            paths = self._catalog.paths(self._scope, mount=neighbor.source.mount)
            linked = {neighbor.source.mounted(path) for other, path in self._all_linked if other is neighbor}
            stored = self._stored(paths)
            if shared := [path for path, known in stored if path in linked or neighbor.holds(path, *known.aliases)]:
                target = self._target.seen_from(neighbor.source, neighbor.folder)
                there = Rulings(self._catalog, target, self._files.seen_from(target))
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

    def carry(self, items: Iterable[Item]) -> SourceRef:
        """The source, with the rules of a folder that was moved held for all that is in it now."""
        self._files.listed = {item.path: item for item in items}
        paths = {self._source.inner(path) for path in self._catalog.paths(self._scope, mount=self._source.mount)}
        new = [path for path in self._files.listed if path not in paths]
        for rules in (self._rules, *(neighbor.rules for neighbor in self._files.neighbors)) if new else ():
            for moved in self._moved_from(rules, new):
                carried = {rule.part: rule for rule in moved.carried(rules) if self._is_narrower(rule)}
                if carried and self._has_moved(rules.source, moved):
                    self._held |= carried
                    self._rules = Rules(with_held(self._source, self._held.values()))
        return self._rules.source

    def _moved_from(self, rules: Rules, new: Sequence[str]) -> list[MovedFolder]:
        source = rules.source
        stored = [source.inner(path) for path in self._catalog.paths(self._scope, mount=source.mount)]
        return moved_folders(stored, [path for path in stored if not self._files.is_in_place(source, path)], new)

    def _has_moved(self, source: SourceRef, moved: MovedFolder) -> bool:
        """Whether at least half of its files have their text in the new place."""
        files = moved.files[:: len(moved.files) // _COMPARED + 1]
        texts = self._catalog.texts(self._scope, [source.mounted(old) for old, _ in files])
        same = [
            self._files.is_text(new, texts[source.mounted(old)]) for old, new in files if source.mounted(old) in texts
        ]
        return 2 * sum(same) >= len(files)

    def close_copies(self, removed: Collection[str]) -> None:
        """Close later copies of documents that are removed or were replaced: a file may be copied in a run, and deleted
        in the next."""
        closed = {path: known for path, known in self._stored(removed) if PUBLIC not in known.access.readers}
        texts = self._catalog.texts(self._scope, closed)
        gone = [(Gone(path, closed[path].access, of_path), closed[path].created_at) for path, of_path in texts.items()]
        self._close([*gone, *self._replaced], besides=removed)

    def _close(self, gone: Sequence[tuple[Gone, float]], besides: Collection[str] = ()) -> None:
        gone_texts, since = GoneTexts(each for each, _ in gone), {each.path: at for each, at in gone}
        paths = self._catalog.paths_with(self._scope, gone_texts.texts) if gone_texts else ()
        copies = [path for path in paths if path not in besides and path not in since]
        changed, of_copies = dict[str, Ruling](), self._catalog.texts(self._scope, copies)
        for path, copy in self._stored(copies):
            for each in gone_texts.of(of_copies[path]):
                is_later = copy.created_at > since[each.path]
                if is_later and not copy.access.is_within(each.access) and not self._was_widened(path):
                    changed[path] = Ruling(copy.access.narrowed(each.access), each.reason)
                    self._narrowed[path] = (each.access, each.reason)
                    self._note(path, copy.access, changed[path])
        self._rewrite(changed)

    def _note(self, document: str, said: Access, ruling: Ruling) -> None:
        self._notes[document] = AccessNote(document, str(said), str(ruling.access), ruling.reason)

    def _stands(self, path: str) -> Access:
        """What was said of a path so far."""
        return self._rules.of(path, but=("held",)) or Access()

    def _narrowing(self, path: str, aliases: Iterable[str]) -> Iterator[tuple[Access, str]]:
        yield from ((rule.access, rule.reason) for rule in self._rules.held(path))
        for alias in aliases:
            rule = self._rules.of(alias) or Access()
            yield rule, f"the same file as {self._source.mounted(alias)}, which is for {rule}"
        for neighbor, name in self._files.beside(path, *aliases):
            if said := neighbor.rules.of(name, but=("default",)):
                yield said, f"the same file as {neighbor.source.mounted(name)}, which is for {said}"

    def _is_widened(self, path: str) -> bool:
        """Whether somebody said in this run, in words, that more may read it: a pattern that the scope has already, or
        that was there before its source, says nothing new."""
        if self._target.widen and self._target.part in at_or_above(path):
            return True
        if self._target.before is None:
            return False
        known = {(rule.part, rule.readers) for neighbor in self._files.neighbors for rule in neighbor.source.access}
        new = (said for said in self._rules.covering(path) if said.how == "by_path" and said in self._new)
        return any(said.widens and (said.part, said.readers) not in known for said in new)

    def _was_widened(self, document: str) -> bool:
        """Whether somebody once said in words that more may read just this document."""
        sources = (self._source, *(neighbor.source for neighbor in self._files.neighbors))
        widened = {source.mounted(said.part) for source in sources for said in source.access if said.widens}
        return document in widened

    def _is_narrower(self, rule: SaidRule) -> bool:
        """Whether a rule of a folder that was moved says more than those of its new place, where nothing was before."""
        stands, under = self._rules.of(rule.part) or Access(), self._source.mounted(rule.part)
        is_used = self._catalog.paths(self._scope, under=under, mount=self._source.mount)
        return not is_used and not stands.is_within(rule.access) and not self._is_widened(rule.part)

    def _file_before(self, item: Item) -> Iterator[tuple[Access, str]]:
        """What the library has of the same file from other sources."""
        documents = {neighbor.source.mounted(path) for neighbor, path in self._files.beside(item.path, *item.aliases)}
        for document, known in self._stored(documents):
            yield known.access, f"the same file as {document}, which is for {known.access}"

    def _text_before(
        self, item: Item, path: str, known: KnownDocument | None, texts: frozenset[Digest]
    ) -> Iterator[tuple[Access, str]]:
        """The rules of documents whose text this is, and that do not have it any more."""
        document = self._source.mounted(path)
        old = self._catalog.texts(self._scope, [document]).get(document, frozenset()) if known else frozenset()
        if known is not None and PUBLIC not in known.access.readers and not shares_half(old, texts):
            self._catalog.record_departed(self._scope, [Departed(document, known.access, old)])
            self._replaced.append((Gone(document, known.access, old), known.created_at))
            self._close(self._replaced[-1:])
        if self._is_widened(path):
            return
        stands, new = self._stands(path), texts - old
        others = self._stored([each for each in self._catalog.paths_with(self._scope, new) if each != document])
        of_others = self._catalog.texts(self._scope, [each for each, _ in others])
        is_open = {each for each, other in others if stands.is_within(other.access)}
        shared = frozenset[Digest]().union(*(of_others[each] for each in is_open))
        for gone in self._departed.of(new - shared):
            yield gone.access, gone.reason
        for each, other in others:
            older = (
                of_others[name] for name, known in others if name in is_open and known.created_at < other.created_at
            )
            rest = new.difference(*older)
            if each not in is_open and shares_half(rest, of_others[each]) and not self._has_text(each, other, item):
                yield other.access, Gone(each, other.access, frozenset()).reason

    def _has_text(self, document: str, known: KnownDocument, item: Item) -> bool:
        sources = (self._source, *(neighbor.source for neighbor in self._files.neighbors))
        source = next((each for each in sources if each.mount == known.mount), None)
        texts = self._catalog.texts(self._scope, [document]).get(document, frozenset())
        return source is not None and self._files.has_text(source, source.inner(document), texts, beside=item.path)

    @cached_property
    def _departed(self) -> GoneTexts:
        return GoneTexts(Gone(each.path, each.access, each.texts) for each in self._catalog.departed(self._scope))

    @cached_property
    def _all_linked(self) -> list[tuple[Neighbor, str]]:
        """The documents of other sources that are hard links to documents of this one."""
        paths = self._catalog.paths(self._scope, mount=self._source.mount)
        return [each for path in paths for each in self._files.linked(self._source.inner(path))]

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
