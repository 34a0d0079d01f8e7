"""Gathers what the policy has to know about the documents of a source, and applies what it decides to stored ones."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from citewise.errors import Misconfigured
from citewise.ingest.files import Files, Neighbor
from citewise.ingest.moves import (
    MAX_HOLDERS,
    MovedFolder,
    RemovedTexts,
    Texts,
    file_name,
    gone_reason,
    has_moved,
    moved_folders,
    shares_half,
)
from citewise.ingest.policy import Rules, Ruling, access_of, at_or_above, combined, inherited, with_inherited
from citewise.ingest.targets import Target
from citewise.model.access import PUBLIC, Access
from citewise.model.document import AccessRule, Item, KnownDocument, RemovedText, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import Digest, document_id
from citewise.model.report import AccessNote
from citewise.ports.catalog import Catalog, DocumentWrite

_AT_ONCE = 64  # documents that are rewritten together
_COMPARED = 10  # files of a folder that may have been moved whose text is compared
_WIDEN = "open it with --access RULE --widen"


class Rulings:
    """Decides for one source, and remembers what has to be reported and inherited."""

    def __init__(self, catalog: Catalog, target: Target, files: Files) -> None:
        self._catalog = catalog
        self._target = target
        self._files = files
        self._scope = target.scope
        self._source = target.source
        self._rules = Rules(target.source)
        before = frozenset(map(_meaning, () if target.before is None else target.before.access))
        self._new = frozenset(rule for rule in target.source.access if _meaning(rule) not in before)
        self.tightened: dict[str, int] = {}  # documents that were given a narrower rule, and how many chunks they have
        self._inherited: dict[str, AccessRule] = {}
        self._notes: dict[str, AccessNote] = {}

    def of(
        self,
        path: str,
        *,
        own: tuple[str, ...],
        known: KnownDocument | None,
        item: Item | None = None,  # None: its file is not looked at
        texts: Texts | None = None,  # content hashes of its chunks; None: they are those that are stored
    ) -> Ruling:
        """Who may read the document at a path of the source. Raises BadRequest for an invalid rule of its own."""
        covering = self._rules.covering(path)
        by_path = combined(covering, excluding=("inherited",)) or Access()
        aliases = item.aliases if item else known.aliases if known else ()
        is_widened, document = self._is_widened(path, covering), self._source.mounted(path)
        replaced, copied_from = None, () if known is None or is_widened else known.copied_from
        past = list[tuple[Access, str]]()
        if texts is not None and item is not None:
            old = self._old_texts(document) if known else frozenset[Digest]()
            replaced = self._replaced(document, known, old, item)
            copied_from = copied_from if shares_half(old, texts) else ()
            if not is_widened:
                found = self._same_texts(item, document, by_path, texts - old)
                past += [(each.access, gone_reason(each.path, each.access)) for each in found.gone]
                copied_from = tuple(sorted({*copied_from, *found.copied_from}))
        if known is not None and not (is_widened or self._has_new_pattern(covering)):
            past.append((known.access, f"it was for {known.access} before: {_WIDEN}"))
        if item is not None and not is_widened and (known is None or texts is not None):
            past += self._known_elsewhere(item, document, known)
        ruling = access_of(by_path, narrowing=self._narrowing(path, aliases, covering), own=own, past=past)
        if ruling.inherited is not None:
            readers = tuple(sorted(ruling.inherited.readers))
            self._inherited[path] = AccessRule(path, readers, "inherited", reason=ruling.reason)
        requested = self._target.said if self._target.part in at_or_above(path) else None
        if requested is not None and by_path != requested:
            ruling = replace(ruling, reason=f"its rule was {by_path} before: {_WIDEN}; {ruling.reason}".rstrip("; "))
        self._note(document, requested or by_path, ruling)
        return replace(ruling, replaced=replaced, copied_from=copied_from)

    def tighten(self) -> None:
        """Apply new rules to what the library has, without its files; nothing is widened."""
        if not self._new:
            return
        changed = dict(self._tightened(self._catalog.paths(self._scope, mount=self._source.mount)))
        for neighbor in self._files.neighbors:
            linked = {neighbor.source.mounted(path) for other, path in self._all_linked if other is neighbor}
            if not linked and not neighbor.is_nested:
                continue
            stored = self._stored(self._catalog.paths(self._scope, mount=neighbor.source.mount))
            if shared := [path for path, known in stored if path in linked or neighbor.contains(path, *known.aliases)]:
                target = self._target.of_neighbor(neighbor.source, neighbor.folder)
                there = Rulings(self._catalog, target, self._files.of_neighbor(target))
                changed |= there._tightened(shared)
                self._notes |= {path: there._notes[path] for path in changed.keys() & there._notes.keys()}
        self._rewrite(changed)

    def unreached(self) -> Iterator[AccessNote]:
        """The stored documents of what was given another rule in this run that others may read all the same."""
        requested, under = self._target.said, self._source.mounted(self._target.part)
        if requested is None or self._target.before is None:
            return
        for path, known in self._stored(self._catalog.paths(self._scope, under=under, mount=self._source.mount)):
            by_path = self._rules.of(self._source.inner(path), excluding=("inherited",)) or Access()
            if not known.access.is_within(by_path):
                reason = "its rule could not be changed"
                yield AccessNote(path, str(requested), str(known.access), reason, is_reached=False)

    def notes(self, removed: Collection[str]) -> tuple[AccessNote, ...]:
        """The documents whose rule is not what was said, and why."""
        kept = {path: note for path, note in self._notes.items() if path not in removed}
        return tuple({**kept, **{note.path: note for note in self.unreached()}}.values())

    def remembered(self, removed: Collection[str]) -> SourceRef:
        """The source with what is inherited from now on. A removed text is recognized, should it come back."""
        gone = {self._source.inner(path) for path in removed}
        kept = [rule for rule in self._source.access if rule.origin != "inherited" or rule.part not in gone]
        return self._with_inherited(replace(self._source, access=tuple(kept)))

    def carry(self, items: Iterable[Item]) -> SourceRef:
        """The source, in which all that is in a folder that was moved inherits the folder's rules."""
        self._files.listed = {item.path: item for item in items}
        paths = {self._source.inner(path) for path in self._catalog.paths(self._scope, mount=self._source.mount)}
        new = [path for path in self._files.listed if path not in paths]
        for rules in (self._rules, *(neighbor.rules for neighbor in self._files.neighbors)) if new else ():
            for moved in self._moved_folders(rules.source, new):
                carried = {rule.part: rule for rule in moved.rules(rules) if self._is_narrower(rule)}
                if carried and self._has_moved(rules.source, moved):
                    self._inherited |= carried
                    self._rules = Rules(self._with_inherited(self._source))
        return self._rules.source

    def _with_inherited(self, source: SourceRef) -> SourceRef:
        """What is inherited counts before a widening of this run that names a part below it, and behind all else."""
        part, rules = self._target.part, source.access
        named = [rule for rule in rules[-1:] if self._target.widen and rule.part == part and rule.origin == "access"]
        above = [rule for rule in self._inherited.values() if rule.part != part and rule.part in at_or_above(part)]
        if named and above:
            source = with_inherited(replace(source, access=rules[:-1]), above)
            source = replace(source, access=(*source.access, *named))
        return with_inherited(source, self._inherited.values())

    def _moved_folders(self, source: SourceRef, new: Sequence[str]) -> list[MovedFolder]:
        names = {file_name(path) for path in new}
        stored = [source.inner(path) for path in self._catalog.paths(self._scope, mount=source.mount)]
        same = (path for path in stored if file_name(path) in names)
        return moved_folders(stored, [path for path in same if not self._files.is_in_place(source, path)], new)

    def _has_moved(self, source: SourceRef, moved: MovedFolder) -> bool:
        """Whether at least half of its files have their text in the new place."""
        files = moved.files[:: len(moved.files) // _COMPARED + 1]
        texts = self._catalog.texts(self._scope, [source.mounted(old) for old, _ in files])
        same = [
            self._files.is_text(new, texts[source.mounted(old)]) for old, new in files if source.mounted(old) in texts
        ]
        return 2 * sum(same) >= len(files)

    def close_copies(self, vanishing: Collection[str]) -> None:
        """Close the copies of documents whose text is about to be removed or replaced, or whose files are gone: a file
        may be copied in a run, and deleted in the next."""
        copies = dict(self._stored(self._catalog.copies(self._scope)))
        originals = dict(self._stored({path for copy in copies.values() for path in copy.copied_from}))
        there = {path for path, known in originals.items() if path not in vanishing and self._is_in_place(path, known)}
        changed = dict[str, Ruling]()
        for path, copy in copies.items():
            lost = {each: originals.get(each, copy) for each in copy.copied_from if each not in there}
            if lost and path not in vanishing:
                ruling = self._without_originals(path, copy, lost, besides={*vanishing, *lost, path})
                kept = {*copy.copied_from, *ruling.copied_from} - lost.keys()
                changed[path] = replace(ruling, copied_from=tuple(sorted(kept)))
        self._remember({path: ruling for path, ruling in changed.items() if ruling.inherited is not None}, copies)
        self._rewrite(changed)

    def _without_originals(
        self, path: str, copy: KnownDocument, lost: Mapping[str, KnownDocument], *, besides: Collection[str]
    ) -> Ruling:
        """Who may read a copy of documents that are gone, and what else it may have been copied from."""
        wider = {each: other for each, other in lost.items() if not copy.access.is_within(other.access)}
        if not wider or all(self._shares_boilerplate(path, each) for each in wider):
            return Ruling(copy.access)
        if others := self._others_with_text(path, wider.values(), besides):
            return Ruling(copy.access, copied_from=others)
        if copy.mount != self._source.mount and not self._has_text(path, copy):
            return Ruling(copy.access)  # it has another text by now, and is decided about when that is read
        past = [(other.access, gone_reason(each, other.access)) for each, other in wider.items()]
        ruling = access_of(copy.access, past=past)
        self._note(path, copy.access, ruling)
        return ruling

    def _remember(self, closed: Mapping[str, Ruling], known: Mapping[str, KnownDocument]) -> None:
        """Have the sources of documents remember why these are closed."""
        for path, ruling in closed.items():
            source = self._source_of(known[path])
            if source is None or ruling.inherited is None:
                continue
            readers, inner = tuple(sorted(ruling.inherited.readers)), source.inner(path)
            rule = AccessRule(inner, readers, "inherited", reason=ruling.reason)
            if source is self._source:
                self._inherited[inner] = rule
            else:
                stored = next(ref for ref in self._catalog.sources(self._scope) if ref.mount == source.mount)
                self._catalog.register(self._scope, with_inherited(stored, [rule]))

    def _shares_boilerplate(self, path: str, other: str) -> bool:
        """Whether all that two documents have in common has become common to many."""
        shared = self._old_texts(path) & self._old_texts(other)
        return bool(shared) and self._holders(shared)[1] == shared

    def _others_with_text(
        self, copy: str, lost: Collection[KnownDocument], besides: Collection[str]
    ) -> tuple[str, ...]:
        """Documents for as few readers that still have the text of a copy: what it was copied from was renamed."""
        texts = self._old_texts(copy)
        holders, _ = self._holders(texts)
        others = self._stored({path for paths in holders.values() for path in paths} - {*besides})
        closed = [path for path, other in others if all(other.access.is_within(each.access) for each in lost)]
        stored = dict(others)
        there = [path for path in closed if self._is_in_place(path, stored[path])]
        return tuple(path for path in there if shares_half(texts, self._old_texts(path)))

    def _note(self, document: str, requested: Access, ruling: Ruling) -> None:
        self._notes.pop(document, None)
        if ruling.reason:
            self._notes[document] = AccessNote(document, str(requested), str(ruling.access), ruling.reason)

    def _narrowing(
        self, path: str, aliases: Iterable[str], covering: Sequence[AccessRule]
    ) -> Iterator[tuple[Access, str]]:
        yield from ((rule.access, rule.reason) for rule in inherited(covering))
        for alias in aliases:
            rule = self._rules.of(alias) or Access()
            yield rule, f"the same file as {self._source.mounted(alias)}, which is for {rule}"
        for neighbor, name in self._files.same_files(path, *aliases):
            # That a source has no rule of its own says nothing about the same file elsewhere.
            rules = [rule for rule in neighbor.rules.covering(name) if _meaning(rule) != _NO_RULE]
            if there := combined(rules):
                yield there, f"the same file as {neighbor.source.mounted(name)}, which is for {there}"

    def _is_widened(self, path: str, covering: Iterable[AccessRule]) -> bool:
        """Whether somebody said in this run, in words, that more may read it, whatever its text was before: a pattern
        that the scope has already says nothing new."""
        is_named = self._target.widen and self._target.part in at_or_above(path)
        return is_named or any((rule.part, rule.readers) not in self._patterns for rule in self._new_patterns(covering))

    def _has_new_pattern(self, covering: Iterable[AccessRule]) -> bool:
        return any(True for _ in self._new_patterns(covering))

    def _new_patterns(self, covering: Iterable[AccessRule]) -> Iterator[AccessRule]:
        """Those that open a path of this source since this run; a source that is new has none."""
        if self._target.before is not None:
            yield from (rule for rule in covering if rule.origin == "by_path" and rule.widens and rule in self._new)

    @cached_property
    def _patterns(self) -> frozenset[tuple[str, tuple[str, ...]]]:
        """What the other sources of the scope have."""
        rules = (rule for neighbor in self._files.neighbors for rule in neighbor.source.access)
        return frozenset((rule.part, rule.readers) for rule in rules)

    def _is_narrower(self, rule: AccessRule) -> bool:
        """Whether a rule of a folder that was moved says more than those of its new place, where nothing was before."""
        covering, under = self._rules.covering(rule.part), self._source.mounted(rule.part)
        is_used = self._catalog.paths(self._scope, under=under, mount=self._source.mount)
        is_within = (combined(covering) or Access()).is_within(rule.access)
        return not is_used and not is_within and not self._is_widened(rule.part, covering)

    def _known_elsewhere(self, item: Item, document: str, known: KnownDocument | None) -> Iterator[tuple[Access, str]]:
        """What was at this path once, and what the library has of the same file from other sources."""
        if known is None:
            yield from ((each.access, gone_reason(each.path, each.access)) for each in self._removed.at(document))
        same = self._files.same_files(item.path, *item.aliases)
        for other, there in self._stored({neighbor.source.mounted(path) for neighbor, path in same}):
            yield there.access, f"the same file as {other}, which is for {there.access}"

    def _old_texts(self, document: str) -> Texts:
        return self._catalog.texts(self._scope, [document]).get(document, frozenset())

    def _replaced(self, document: str, known: KnownDocument | None, old: Texts, item: Item) -> RemovedText | None:
        """The text that a document had, if it has another one now, and not everybody could read it."""
        if known is None or PUBLIC in known.access.readers or not old or self._has_text(document, known):
            return None
        replaced = RemovedText(document, known.access, old)
        self._removed.add(replaced)
        return replaced

    def _same_texts(self, item: Item, document: str, by_path: Access, new: Texts) -> "SameTexts":
        """The documents for fewer readers that had the new chunks of this one, and have them no more or still have."""
        holders, boilerplate = self._holders(new)
        others = dict(self._stored({path for paths in holders.values() for path in paths} - {document}))
        closed = {path: other for path, other in others.items() if not by_path.is_within(other.access)}
        removed = self._removed.of(new)
        if not closed and not removed:
            return SameTexts()
        texts = self._catalog.texts(self._scope, others)
        there = {path for path, other in closed.items() if self._has_text(path, other, beside=item.path)}
        opened, kept = others.keys() - closed.keys(), _union(texts, there)
        in_the_open = _union(texts, opened) | boilerplate
        gone = [each for each in removed if has_moved(new, each.texts, known=in_the_open, kept=kept)]
        copied_from = list[str]()
        for path, other in closed.items():
            older = {each for each in opened if others[each].created_at < other.created_at}
            known = _union(texts, older) | boilerplate
            if path in there and has_moved(new, texts[path], known=known, kept=frozenset()):
                copied_from.append(path)
            elif path not in there and has_moved(new, texts[path], known=known, kept=kept):
                gone.append(RemovedText(path, other.access, texts[path]))
        return SameTexts(tuple(gone), tuple(copied_from))

    def _holders(self, texts: Collection[Digest]) -> tuple[Mapping[Digest, tuple[str, ...]], Texts]:
        """The documents that have each of these chunks, and the chunks that are boilerplate."""
        found = self._catalog.holders(self._scope, texts, limit=MAX_HOLDERS + 1) if texts else {}
        boilerplate = frozenset(text for text, paths in found.items() if len(paths) > MAX_HOLDERS)
        return {text: paths for text, paths in found.items() if text not in boilerplate}, boilerplate

    def _has_text(self, document: str, known: KnownDocument, *, beside: str = "") -> bool:
        source = self._source_of(known)
        return source is not None and self._files.has_text(source, document, known, beside=beside)

    def _is_in_place(self, document: str, known: KnownDocument) -> bool:
        """Whether the file of a document is where it was; a source that cannot be looked at has all of them."""
        source = self._source_of(known)
        return source is None or self._files.is_in_place(source, source.inner(document))

    def _source_of(self, known: KnownDocument) -> SourceRef | None:
        sources = (self._source, *(neighbor.source for neighbor in self._files.neighbors))
        return next((each for each in sources if each.mount == known.mount), None)

    @cached_property
    def _removed(self) -> RemovedTexts:
        return RemovedTexts(self._catalog.removed_texts(self._scope))

    @cached_property
    def _all_linked(self) -> list[tuple[Neighbor, str]]:
        """The documents of other sources that are hard links to documents of this one."""
        paths = self._catalog.paths(self._scope, mount=self._source.mount)
        return [each for path in paths for each in self._files.linked(self._source.inner(path))]

    def _stored(self, documents: Collection[str]) -> list[tuple[str, KnownDocument]]:
        return sorted(self._catalog.stamps(self._scope, documents, verify=False).items()) if documents else []

    def _tightened(self, documents: Sequence[str]) -> Iterator[tuple[str, Ruling]]:
        """What is decided anew about stored documents, where it is narrower."""
        for document, known in self._stored(documents):
            ruling = self.of(self._source.inner(document), own=known.own_access, known=known)
            access = ruling.access.narrowed(known.access)
            if not known.access.is_within(access):
                yield document, replace(ruling, access=access)

    def _rewrite(self, rulings: Mapping[str, Ruling]) -> None:
        """Store documents again with another rule, or with what they are copied from now."""
        where, waiting = Where(self._scope, None), [*rulings]
        for start in range(0, len(waiting), _AT_ONCE):
            writes = []
            for path in waiting[start : start + _AT_ONCE]:
                ruling, id_ = rulings[path], document_id(self._scope, path)
                try:
                    document, chunks = self._catalog.document(where, id_), self._catalog.chunks(where, id_)
                except Misconfigured:  # it is damaged, so nobody is shown it; reported as not reached
                    continue
                if document is None:
                    continue
                if ruling.access != document.access:
                    document = replace(document, access=ruling.access, access_reason=ruling.reason)
                    self.tightened[path] = len(chunks)
                document = replace(document, copied_from=ruling.copied_from)
                writes.append(DocumentWrite(document, tuple(chunk.with_access(document.access) for chunk in chunks)))
            self._catalog.store(writes)


@dataclass(frozen=True, slots=True)
class SameTexts:
    """Where else a text was for fewer readers: texts that are gone from their place, and documents that have it."""

    gone: tuple[RemovedText, ...] = ()
    copied_from: tuple[str, ...] = ()


def _meaning(rule: AccessRule) -> AccessRule:
    """A rule without its place in the settings: a pattern that is only moved there says nothing new."""
    return replace(rule, rank=None if rule.rank is None else 0, reason="")


_NO_RULE = AccessRule("", ("project",), "default")


def _union(texts: Mapping[str, Texts], documents: Iterable[str]) -> Texts:
    return frozenset[Digest]().union(*(texts[document] for document in documents if document in texts))
