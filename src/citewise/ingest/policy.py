"""Who may read a document: decided here and nowhere else, from what is known about it, without any I/O.

A rule can only narrow what was said before, until somebody widens it in words: with `--access RULE --widen`, or with a
new pattern of ingest.access_by_path. What is unclear is closed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from citewise.errors import Misconfigured
from citewise.model.access import Access
from citewise.model.document import AccessRule, RemovedText, SourceRef
from citewise.text.globs import Glob


@dataclass(frozen=True, slots=True)
class Ruling:
    """Who may read a document, and what keeps it from being what was asked for."""

    access: Access
    reason: str = ""
    inherited: Access | None = None  # what must be remembered, since only the past says so
    replaced: RemovedText | None = None  # the text that the document had before, if it may come back elsewhere
    copied_from: tuple[str, ...] = ()  # paths of documents for fewer readers whose text it has


def access_of(
    requested: Access,
    *,
    narrowing: Iterable[tuple[Access, str]] = (),  # other rules for the same file, and what they are
    own: tuple[str, ...] = (),
    past: Iterable[tuple[Access, str]] = (),  # what was known of the page or its text before
) -> Ruling:
    """Who may read a document: whom all of these admit. Raises BadRequest for an invalid rule of its own."""
    access, reasons, inherited = requested, list[str](), None
    for rule, reason in narrowing:
        if not access.is_within(rule):
            access, reasons = access.narrowed(rule), [*reasons, reason]
    if own:
        rule = Access.of(own)
        if not rule.is_within(access):
            reasons.append(f"its own access: asks for {rule}, and can only narrow")
        elif not access.is_within(rule):
            reasons.append("narrowed by its own access:")
        access = access.narrowed(rule)
    for rule, reason in past:
        if not access.is_within(rule):
            access, reasons = access.narrowed(rule), [*reasons, reason]
            inherited = rule if inherited is None else inherited.narrowed(rule)
    return Ruling(access, "; ".join(dict.fromkeys(reasons)), inherited)


class Rules:
    """The rules of a source, by the paths that they cover."""

    def __init__(self, source: SourceRef) -> None:
        self.source = source
        self._parts: dict[str, list[int]] = defaultdict(list)
        self._patterns: list[tuple[int, Glob]] = []
        for place, said in enumerate(source.access):
            if said.origin != "by_path":
                self._parts[said.part].append(place)
            elif glob := Glob.of(said.part):
                self._patterns.append((place, glob))

    def of(self, path: str, *, excluding: Collection[str] = ()) -> Access | None:
        """Who may read a path by the rules that cover it, but for some kinds; None: there is no other."""
        return combined(self.covering(path), excluding=excluding)

    def covering(self, path: str) -> list[AccessRule]:
        """The rules that cover a path, in order. A pattern that only covers its path in the library, which starts with
        the name of the source, comes last and narrows: the name of a source opens nothing."""
        rules, mounted = self.source.access, self.source.mounted(path)
        matching = _first([rules[place] for place, glob in self._patterns if glob.covers(path)])
        narrowing = _first([rules[place] for place, glob in self._patterns if glob.covers(mounted)])
        places = {place for part in at_or_above(path) for place in self._parts.get(part, ())}
        places |= {place for place, _ in self._patterns if rules[place] in matching}
        last = [replace(said, widens=False) for said in narrowing if said not in matching]
        return [*(rules[place] for place in sorted(places)), *last]

    def below(self, part: str) -> list[AccessRule]:
        """The rules of what lies below a part."""
        inner = (said for said in self.source.access if said.origin != "by_path" and said.part != part)
        return [said for said in inner if part in at_or_above(said.part)]


def combined(covering: Iterable[AccessRule], *, excluding: Collection[str] = ()) -> Access | None:
    """Whom the rules that cover a path admit together, in their order."""
    access: Access | None = None
    for rule in covering:
        if rule.origin not in excluding:
            access = rule.access if access is None or rule.widens else access.narrowed(rule.access)
    return access


def inherited(covering: Iterable[AccessRule]) -> list[AccessRule]:
    """What only the past says of a path, since a part of the source was widened in words that holds it."""
    found = list[AccessRule]()
    for rule in covering:
        is_named = rule.widens and rule.origin == "access" and bool(rule.part)
        found = [] if is_named else [*found, rule] if rule.origin == "inherited" else found
    return found


def _first(patterns: Sequence[AccessRule]) -> list[AccessRule]:
    """Of the patterns in the settings only the first counts; those that were there once go on narrowing."""
    ranked = [said for said in patterns if said.rank is not None]
    first = min(ranked, key=lambda said: said.rank or 0, default=None)
    return [said for said in patterns if said.rank is None or said is first]


def with_default(source: SourceRef, rules: tuple[str, ...]) -> SourceRef:
    """The source with the rule of the settings, which a source begins with, and which narrows unless another was given
    for all of it."""
    new = AccessRule("", _readers(rules), "default")
    at_root = [said for said in source.access if not said.part]
    is_said = any(said.origin != "default" for said in at_root) or new in at_root
    return source if at_root and (is_said or not rules) else replace(source, access=(*source.access, new))


def with_patterns(source: SourceRef, by_path: Mapping[str, tuple[str, ...]]) -> SourceRef:
    """The source with the patterns of the settings: a new or changed one widens. Where there are none at all, the old
    ones are remembered; one that is left out opens nothing any more, and goes on narrowing."""
    if not by_path:
        return source
    for pattern in by_path:
        glob = Glob.of(pattern)
        if glob is None or glob.keeps:
            raise Misconfigured(f"ingest.access_by_path: {pattern!r} is not a pattern that could match a path")
    ranks = {pattern: rank for rank, pattern in enumerate(by_path)}
    kept, known = list[AccessRule](), set[str]()
    for said in source.access:
        if said.origin != "by_path":
            kept.append(said)
        elif said.part not in ranks:
            kept.append(replace(said, widens=False, rank=None))
        elif said.rank is not None and said.readers == _readers(by_path[said.part]):
            kept.append(replace(said, rank=ranks[said.part]))
            known.add(said.part)
    new = [
        AccessRule(pattern, _readers(rules), "by_path", widens=True, rank=ranks[pattern])
        for pattern, rules in by_path.items()
        if pattern not in known
    ]
    staying = [said for said in kept if said.part and said.rank is None and not said.widens]
    return _with_widening(source, kept, new, staying)


def with_access(source: SourceRef, part: str, rules: tuple[str, ...], *, widen: bool) -> SourceRef:
    """The source once a part of it ("": all of it) was given a rule. Said again, it changes nothing; to widen it keeps
    the rules of the parts below, but not what is only held there, unless all of the source is meant."""
    new = AccessRule(part, _readers(rules), "access", widens=widen)
    given = [said for said in source.access if said.origin == "access" and said.part == part]
    if not new.widens:
        is_same = bool(given) and given[-1].readers == new.readers
        return source if is_same else replace(source, access=(*source.access, new))
    inner = [said for said in source.access if said.origin != "by_path" and part in at_or_above(said.part)]
    others = [said for said in source.access if said not in inner]
    kept = [said for said in inner if said.part != part and (said.origin != "inherited" or not part)]
    # A part that was opened in words inside a closed one stays open, but for no more than all of it is from now on.
    limit = [replace(new, widens=False)] if any(said.widens for said in kept) else []
    return _with_widening(source, [*others, *kept], [new], [*kept, *limit])


def with_inherited(source: SourceRef, rules: Iterable[AccessRule]) -> SourceRef:
    present = frozenset(source.access)
    new = [rule for rule in rules if rule not in present]
    return replace(source, access=(*source.access, *new)) if new else source


def _with_widening(
    source: SourceRef, rules: Sequence[AccessRule], new: Sequence[AccessRule], staying: Sequence[AccessRule]
) -> SourceRef:
    """What has to stay in force comes after what widens."""
    later = staying if new else []
    return replace(source, access=(*(said for said in rules if said not in later), *new, *later))


def at_or_above(part: str) -> list[str]:
    """The part of a source itself and those that hold it, the innermost first; the whole source is ""."""
    found = [part]
    while part:
        part = part.rpartition("/")[0]
        found.append(part)
    return found


def _readers(rules: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(Access.of(rules).readers))
