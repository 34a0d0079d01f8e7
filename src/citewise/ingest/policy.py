"""Who may read a document: decided here and nowhere else, from what is known about it, without any I/O.

A rule can only narrow what was said before, until somebody widens it in words: with `--access RULE --widen`, or with a
new pattern of ingest.access_by_path. What is unclear is closed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from citewise.errors import Misconfigured
from citewise.model.access import Access
from citewise.model.document import SaidRule, SourceRef
from citewise.text.globs import Glob


@dataclass(frozen=True, slots=True)
class Ruling:
    """Who may read a document, and what keeps it from being what was said."""

    access: Access
    reason: str = ""
    held: Access | None = None  # what must be remembered, since only the past says so


def decided(
    said: Access,
    *,
    narrowing: Iterable[tuple[Access, str]] = (),  # other rules for the same file, and what they are
    own: tuple[str, ...] = (),
    past: Iterable[tuple[Access, str]] = (),  # what was known of the page or its text before
) -> Ruling:
    """Who may read a document: whom all of these admit. Raises BadRequest for an invalid rule of its own."""
    access, reasons, held = said, list[str](), None
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
            held = rule if held is None else held.narrowed(rule)
    return Ruling(access, "; ".join(dict.fromkeys(reasons)), held)


class Rules:
    """The rules of a source, by the paths that they cover."""

    def __init__(self, source: SourceRef) -> None:
        self.source = source
        self._parts: dict[str, list[int]] = defaultdict(list)
        self._patterns: list[tuple[int, Glob]] = []
        for place, said in enumerate(source.access):
            if said.how != "by_path":
                self._parts[said.part].append(place)
            elif glob := Glob.of(said.part):
                self._patterns.append((place, glob))

    def of(self, path: str, *, but: Collection[str] = ()) -> Access | None:
        """Who may read a path by the rules that cover it, leaving out some kinds; None: there is no other."""
        access: Access | None = None
        for said in self.covering(path):
            if said.how not in but:
                access = said.access if access is None or said.widens else access.narrowed(said.access)
        return access

    def covering(self, path: str) -> list[SaidRule]:
        """The rules that cover a path, in order. A pattern that only covers its path in the library, which starts with
        the name of the source, comes last and narrows: the name of a source opens nothing."""
        rules, mounted = self.source.access, self.source.mounted(path)
        matching = _first([rules[place] for place, glob in self._patterns if glob.covers(path)])
        narrowing = _first([rules[place] for place, glob in self._patterns if glob.covers(mounted)])
        places = {place for part in at_or_above(path) for place in self._parts.get(part, ())}
        places |= {place for place, _ in self._patterns if rules[place] in matching}
        last = [replace(said, widens=False) for said in narrowing if said not in matching]
        return [*(rules[place] for place in sorted(places)), *last]

    def held(self, path: str) -> list[SaidRule]:
        """What only the past says of a path, since a part of the source was widened in words that holds it."""
        held = list[SaidRule]()
        for said in self.covering(path):
            is_named = said.widens and said.how == "access" and bool(said.part)
            held = [] if is_named else [*held, said] if said.how == "held" else held
        return held

    def below(self, part: str) -> list[SaidRule]:
        """The rules of what lies below a part."""
        inner = (said for said in self.source.access if said.how != "by_path" and said.part != part)
        return [said for said in inner if part in at_or_above(said.part)]


def _first(patterns: Sequence[SaidRule]) -> list[SaidRule]:
    """Of the patterns in the settings only the first counts; those that were there once go on narrowing."""
    ranked = [said for said in patterns if said.rank is not None]
    first = min(ranked, key=lambda said: said.rank or 0, default=None)
    return [said for said in patterns if said.rank is None or said is first]


def with_default(source: SourceRef, rules: tuple[str, ...]) -> SourceRef:
    """The source with the rule of the settings, which a source begins with, and which narrows unless another was given
    for all of it."""
    new = SaidRule("", _readers(rules), "default")
    at_root = [said for said in source.access if not said.part]
    is_said = any(said.how != "default" for said in at_root) or new in at_root
    return source if at_root and (is_said or not rules) else replace(source, access=(*source.access, new))


def with_patterns(source: SourceRef, by_path: Mapping[str, tuple[str, ...]]) -> SourceRef:
    """The source with the patterns of the settings: a new or changed one widens. Where there are none at all, the old
    ones are remembered; one that is left out opens nothing any more, and goes on narrowing."""
    if not by_path:
        return source
    for pattern in by_path:
        if Glob.of(pattern) is None:
            raise Misconfigured(f"ingest.access_by_path: {pattern!r} is not a pattern that could match a path")
    ranks = {pattern: rank for rank, pattern in enumerate(by_path)}
    kept, known = list[SaidRule](), set[str]()
    for said in source.access:
        if said.how != "by_path":
            kept.append(said)
        elif said.part not in ranks:
            kept.append(replace(said, widens=False, rank=None))
        elif said.rank is not None and said.readers == _readers(by_path[said.part]):
            kept.append(replace(said, rank=ranks[said.part]))
            known.add(said.part)
    new = [
        SaidRule(pattern, _readers(rules), "by_path", widens=True, rank=ranks[pattern])
        for pattern, rules in by_path.items()
        if pattern not in known
    ]
    staying = [said for said in kept if said.part and said.rank is None and not said.widens]
    return _with_widening(source, kept, new, staying)


def with_access(source: SourceRef, part: str, rules: tuple[str, ...], *, widen: bool) -> SourceRef:
    """The source once a part of it ("": all of it) was given a rule. Said again, it changes nothing; to widen it keeps
    the rules of the parts below, but not what is only held there, unless all of the source is meant."""
    new = SaidRule(part, _readers(rules), "access", widens=widen)
    given = [said for said in source.access if said.how == "access" and said.part == part]
    if not new.widens:
        is_same = bool(given) and given[-1].readers == new.readers
        return source if is_same else replace(source, access=(*source.access, new))
    inner = [said for said in source.access if said.how != "by_path" and part in at_or_above(said.part)]
    others = [said for said in source.access if said not in inner]
    kept = [said for said in inner if said.part != part and (said.how != "held" or not part)]
    # A part that was opened in words inside a closed one stays open, but for no more than all of it is from now on.
    limit = [replace(new, widens=False)] if any(said.widens for said in kept) else []
    return _with_widening(source, [*others, *kept], [new], [*kept, *limit])


def with_held(source: SourceRef, held: Iterable[SaidRule]) -> SourceRef:
    new = [rule for rule in held if rule not in source.access]
    return replace(source, access=(*source.access, *new)) if new else source


def _with_widening(
    source: SourceRef, rules: Sequence[SaidRule], new: Sequence[SaidRule], staying: Sequence[SaidRule]
) -> SourceRef:
    """What has to stay in force comes after what widens."""
    later = staying if new else []
    return replace(source, access=(*(said for said in rules if said not in later), *new, *later))


def at_or_above(part: str) -> list[str]:
    """The part of a source itself and those that hold it, the innermost first; the whole source is ""."""
    return [part, *map(str, PurePosixPath(part).parents[:-1]), ""] if part else [""]


def _readers(rules: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(Access.of(rules).readers))
