"""Who may read a document, stated a second time over plain sets of words, from what was said and done.

A document is for whom all of these admit: what was said of its place since the last widening in words; what was said of
every other name of its file; its own `access:`; what it was for before, unless it was widened; what a document was for
that is gone and had half of its text; and, as soon as they are gone, what documents were for that it was copied from.
Where a text may be in several places at once, the law says nothing about them. It is `sure` where nothing but what was
said decides: there, whoever may read it must find it, so that a library that closes everything is noticed too.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.leaks.world import Page, Reader, Section

Rule = frozenset[str]
Text = frozenset[Section]
Gone = tuple[str, Text, Rule]  # a document that is not where it was

EVERYBODY: Rule = frozenset({"public"})
MEMBERS: Rule = frozenset({"project"})


def meet(*rules: Rule) -> Rule:
    """Whom all of the rules admit; of two lists of names, those on both."""
    result = EVERYBODY
    for rule in rules:
        for wide in ("public", "project"):
            if wide in result or wide in rule:
                result = rule if wide in result else result
                break
        else:
            result &= rule
    return result


def is_within(rule: Rule, other: Rule) -> bool:
    return "public" in other or meet(rule, other) == rule


def admits(rule: Rule, reader: Reader) -> bool:
    if reader.is_owner or "public" in rule:
        return True
    names = {f"group:{group}" for group in reader.groups} | ({f"owner:{reader.user}"} if reader.user else set())
    return bool(names) and ("project" in rule or bool(names & rule))


def is_below(path: str, part: str) -> bool:
    return not part or path == part or path.startswith(f"{part}/")


@dataclass(frozen=True, slots=True)
class Said:
    """A rule for a part of a source ("": all of it), or for the folder that a pattern of the settings names."""

    part: str
    rule: Rule
    kind: str = "part"  # or "default", "pattern"
    widens: bool = False


def rule_of(path: str, said: Iterable[Said], *, is_widening: bool = True) -> Rule:
    """Since the last widening, and what was said before of parts below the one that was widened."""
    covering = [each for each in said if is_below(path, each.part)]
    last = max((at for at, each in enumerate(covering) if each.widens), default=None)
    if last is None:
        return meet(*(each.rule for each in covering))
    widening, before = covering[last], covering[:last]
    if widening.kind == "pattern":  # other widenings give way to it, parts that were narrowed do not
        kept = rule_of(path, [each for each in before if each.part], is_widening=False)
    else:
        inner = (each for each in before if each.kind == "part" and each.part != widening.part)
        kept = rule_of(path, [each for each in inner if is_below(each.part, widening.part)])
    return meet(*([widening.rule] if is_widening else []), *(each.rule for each in covering[last + 1 :]), kept)


@dataclass(slots=True)
class Place:
    """A source: a folder, and what was said of it."""

    mount: str
    root: Path
    said: list[Said] = field(default_factory=list)
    is_carried: bool = False  # closed text came here: the rule of its folder may have come with it

    def document(self, inner: str) -> str:
        return f"{self.mount}/{inner}" if self.mount else inner

    def inner(self, file: Path) -> str | None:
        return file.relative_to(self.root).as_posix() if file.is_relative_to(self.root) else None

    def rule(self, inner: str) -> Rule:
        return rule_of(inner, self.said)

    def is_sure(self, inner: str) -> bool:
        """A pattern that was left out goes on narrowing, even if its folder was widened meanwhile."""
        left_out = (each.part for each in self.said if each.kind == "pattern" and not each.widens)
        return not any(is_below(inner, part) for part in left_out)

    def say(self, part: str, rule: Rule, *, widen: bool) -> None:
        given = [each for each in self.said if each.kind == "part" and each.part == part]
        if widen or not given or given[-1].rule != rule:  # said again, it changes nothing
            self.said.append(Said(part, rule, widens=widen))

    def set_patterns(self, patterns: Mapping[str, Rule]) -> list[str]:
        """Returns the folders of those that are new: they widen. Without any, the old ones are remembered."""
        if not patterns:
            return []
        current = {each.part for each in self.said if each.kind == "pattern" and each.widens}
        same = {p for p in current & patterns.keys() if Said(p, patterns[p], "pattern", widens=True) in self.said}
        kept = [each for each in self.said if each.kind != "pattern" or each.part in same or each.part not in patterns]
        left_out = [each.kind == "pattern" and each.part not in patterns for each in kept]
        self.said = [
            Said(each.part, each.rule, "pattern") if is_out else each
            for each, is_out in zip(kept, left_out, strict=True)
        ]
        new = [part for part in patterns if part not in same]
        self.said += [Said(part, patterns[part], "pattern", widens=True) for part in new]
        return new


@dataclass(slots=True)
class Doc:
    """A document of the library, as it must be."""

    place: Place
    inner: str
    page: Page
    rule: Rule = EVERYBODY
    held: Rule = EVERYBODY  # what only the past says
    sure: bool = False
    names: frozenset[Path] = frozenset()  # of its file in its source, when it was read
    links: frozenset[Path] = frozenset()  # of its file in other sources, where they are documents too
    copied: set[str] = field(default_factory=set)  # the closed documents that it was copied from
    is_shared: bool = False  # other documents had some of its text, for fewer readers

    @property
    def file(self) -> Path:
        return self.place.root / self.inner

    @property
    def path(self) -> str:
        return self.place.document(self.inner)

    @property
    def text(self) -> Text:
        return frozenset(self.page.sections)


@dataclass(frozen=True, slots=True)
class Run:
    """One ingestion: where, and what was said."""

    place: Place
    part: str
    widen: bool = False
    new_patterns: tuple[str, ...] = ()
    is_said: bool = True  # something that was not said before

    def is_named(self, place: Place, inner: str) -> bool:
        """Whether it was said in words, in this run, who may read it."""
        if place is not self.place:
            return False
        return (self.widen and is_below(inner, self.part)) or any(is_below(inner, each) for each in self.new_patterns)


def shares_half(one: Text, other: Text) -> bool:
    return bool(one) and 2 * len(one & other) >= min(len(one), len(other)) > 0


@dataclass(frozen=True, slots=True)
class Other:
    """A document as it was when a run began."""

    path: str
    text: Text
    rule: Rule
    is_there: bool  # its file has its text, under its own name
    is_gone: bool  # there is no such file


@dataclass(slots=True)
class Law:
    """The sources and documents of a scope."""

    places: dict[str, Place] = field(default_factory=dict)
    docs: dict[str, Doc] = field(default_factory=dict)
    departed: list[Gone] = field(default_factory=list)

    def run(
        self, run: Run, pages: Mapping[Path, Page], stored: Collection[str], everywhere: Mapping[Path, Page]
    ) -> None:
        """An ingestion happened. `pages`: every file of the source that can be read, and of all folders; `stored`: the
        documents that there are now."""
        past = {path: (doc.text, doc.rule) for path, doc in self.docs.items()}
        for doc in self.docs.values():  # whatever can be read: a narrower rule reaches it
            names = {doc.file, *doc.names}
            if run.is_said and (doc.place is run.place or any(run.place.inner(name) is not None for name in names)):
                self._decide(doc, run, doc.rule)
        others = [_seen(doc, everywhere) for doc in self.docs.values()]
        for file, page in sorted(pages.items()):
            inner = run.place.inner(file)
            if inner is not None and is_below(inner, run.part) and run.place.document(inner) in stored:
                self._store(run, inner, page, others, past)
        for doc in self.docs.values():
            if run.place.is_carried and doc.path not in past and not run.is_named(doc.place, doc.inner):
                doc.sure = False
            doc.sure = doc.sure and self._is_alone(doc)  # a link to its file may have been made meanwhile
        self._close_copies(everywhere, stored)
        for path in self.docs.keys() - {*stored}:
            gone = self.docs.pop(path)
            if "public" not in gone.rule:
                self.departed.append((gone.path, gone.text, gone.rule))

    def _store(
        self, run: Run, inner: str, page: Page, others: Sequence[Other], past: Mapping[str, tuple[Text, Rule]]
    ) -> None:
        path = run.place.document(inner)
        doc = self.docs.get(path)
        old, before = past.get(path, (frozenset(), EVERYBODY))
        is_new, named = doc is None, run.is_named(run.place, inner)
        if doc is None:
            doc = self.docs[path] = Doc(run.place, inner, page)
        doc.page, doc.names = page, frozenset(_names(doc))
        doc.links = frozenset(each.file for each in self._same_files(doc))
        came = self._came(doc, doc.text - old, [each for each in others if each.path != path], named=named)
        if is_new:
            came += [each.rule for each in self._same_files(doc)]
            came += [rule for name, _, rule in self.departed if name == path]
        if named or not shares_half(old, doc.text):
            doc.copied -= {each.path for each in others if named or not each.is_there}
        if run.widen and is_below(inner, run.part):
            doc.is_shared = False
        doc.place.is_carried |= doc.is_shared or not is_within(EVERYBODY, meet(*came))
        self._decide(doc, run, meet(before, EVERYBODY if named else meet(*came)), is_stored=True)
        doc.sure = doc.sure and is_within(doc.rule, meet(*came)) and not doc.is_shared

    def _came(self, doc: Doc, new: Text, others: Sequence[Other], *, named: bool) -> list[Rule]:
        """The rules of what is gone and had its new text, and nobody else has; what it was copied from is noted."""
        rule, came = doc.place.rule(doc.inner), list[Rule]()
        gone = [*self.departed, *((each.path, each.text, each.rule) for each in others if each.is_gone)]
        for name, text, closed in gone:
            elsewhere = frozenset[Section]().union(*(each.text for each in others if each.path != name))
            doc.is_shared |= bool(new & text)
            if shares_half(new - elsewhere, text - elsewhere):
                came.append(closed)
        for each in others:
            doc.is_shared |= bool(new & each.text) and not is_within(rule, each.rule)
            known = frozenset[Section]().union(*(other.text for other in others if other is not each))
            if each.is_there and not named and shares_half(new - known, each.text - known):
                doc.copied |= set() if is_within(rule, each.rule) else {each.path}
        return came

    def _close_copies(self, pages: Mapping[Path, Page], stored: Collection[str]) -> None:
        """What was copied is closed with what it was copied from, unless that text is, or may be, elsewhere too."""
        before = {path: doc.rule for path, doc in self.docs.items()}
        for doc in self.docs.values():
            is_there = _seen(doc, pages).is_there
            for path in sorted(doc.copied & self.docs.keys()):
                original = self.docs[path]
                others = (each for name, each in self.docs.items() if name not in (doc.path, path) and name in stored)
                is_elsewhere = any(doc.text & other.text for other in others)
                is_gone = path not in stored or not os.path.lexists(original.file)
                doc.sure = doc.sure and not is_gone
                if is_gone and is_there and not is_elsewhere:
                    rule = before[path]
                    doc.held = doc.held if is_within(doc.rule, rule) else meet(doc.held, rule)
                    doc.rule = meet(doc.rule, rule)
                if is_gone:
                    doc.copied.discard(path)

    def _decide(self, doc: Doc, run: Run, past: Rule, *, is_stored: bool = False) -> None:
        named = run.is_named(doc.place, doc.inner)
        if named and run.widen and run.part and is_below(doc.inner, run.part):
            doc.held = EVERYBODY
        place, others = doc.place.rule(doc.inner), self._others(doc, doc.links if is_stored else ())
        own = frozenset(doc.page.rules) if doc.page.rules else EVERYBODY
        base = meet(place, others, own)
        if named and is_stored:
            doc.rule = meet(base, doc.held)
            doc.sure = is_within(base, doc.held) and is_within(meet(place, own), others) and self._is_alone(doc)
            doc.sure = doc.sure and (bool(run.part) or not doc.place.is_carried)
            return
        if named:  # nothing is widened before the file is read
            past = doc.rule
        elif is_stored and not is_within(meet(base, doc.held), past):
            doc.held = meet(doc.held, past)
        doc.rule = meet(base, past, doc.held)
        doc.sure = (
            is_within(base, meet(past, doc.held))
            and is_within(meet(place, own), others)
            and (doc.sure or not doc.place.is_carried)
            and self._is_alone(doc)
        )

    def _is_alone(self, doc: Doc) -> bool:
        """What is held of another name of its file counts too, and a pattern that was left out goes on narrowing."""
        others = [place for place in self.places.values() if place is not doc.place]
        is_shared = any(
            place.inner(name) is not None for place in others for name in (doc.file, *doc.names, *doc.links)
        )
        is_linked = doc.file.exists() and doc.file.stat().st_nlink > 1
        return not is_shared and not is_linked and len(doc.names) <= 1 and doc.place.is_sure(doc.inner)

    def _others(self, doc: Doc, links: Iterable[Path]) -> Rule:
        """What was said of the other names of its file, in its source and in others."""
        rules = [EVERYBODY]
        for place in self.places.values():
            for name in doc.names.union(links):
                inner = place.inner(name)
                if inner is None or (place is doc.place and inner == doc.inner):
                    continue
                if place is doc.place:
                    rules.append(place.rule(inner))
                elif said := [each for each in place.said if each.kind != "default"]:
                    rules.append(rule_of(inner, said))
        return meet(*rules)

    def _same_files(self, doc: Doc) -> list[Doc]:
        """The documents of other sources that are the same file."""
        try:
            others = (each for each in self.docs.values() if each.place is not doc.place)
            there = [each for each in others if each.file.exists() and not each.file.is_symlink()]
            return [each for each in there if os.path.samefile(each.file, doc.file)]
        except OSError:
            return []

    def place_of(self, path: Path) -> Place | None:
        holding = [place for place in self.places.values() if path.is_relative_to(place.root)]
        return max(holding, key=lambda place: len(place.root.parts), default=None)


def _seen(doc: Doc, pages: Mapping[Path, Page]) -> Other:
    page, is_link = pages.get(doc.file), doc.file.is_symlink()
    is_there = (
        page is not None and not is_link and frozenset(page.sections) == doc.text and doc.file.stat().st_nlink == 1
    )
    return Other(doc.path, doc.text, doc.rule, is_there, not os.path.lexists(doc.file))


def _names(doc: Doc) -> set[Path]:
    """Every path of a document's file below its source."""
    file = doc.file
    names = {file}
    if not file.exists():
        return names
    if file.is_symlink():
        names.add(file.resolve())
    status = os.stat(file)
    if status.st_nlink > 1:
        every = (each for each in doc.place.root.rglob("*") if each.is_file() and not each.is_symlink())
        names |= {each for each in every if os.path.samestat(os.stat(each), status)}
    return names
