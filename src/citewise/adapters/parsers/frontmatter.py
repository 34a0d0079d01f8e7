"""Front matter: where it ends, and what it says about its document.

Never raises, and never opens a document whose access rule it could not read.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields as fields_of
from dataclasses import replace

import yaml

from citewise.adapters.parsers.frontmatter_yaml import Fields, Unfolding, Unreadable, raw_text, top_level
from citewise.model.block import FrontMatter, Json

MAX_CHARACTERS = 64 * 1024  # real front matter is under 2 KB; parsing YAML is slow and its aliases multiply
UNREADABLE_ACCESS = "(one that cannot be read)"  # Access.of rejects it, so the document stays closed
_OPENING = re.compile(r"\ufeff?---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_ACCESS_KEY = re.compile(r"""(?:^[ \t]*|[{,][ \t]*)["']?access["']?[ \t]*:""", re.MULTILINE | re.IGNORECASE)
_FIRST_ENTRY = re.compile(r"""\s*(?:#.*\n\s*)*["']?[\w-]+["']?[ \t]*:(?:\s|$)""")
_KNOWN = frozenset(field.name for field in fields_of(FrontMatter)) - {"access", "other"}


def split_front_matter(text: str) -> tuple[FrontMatter, int, tuple[str, ...]]:
    """What the front matter says, the line (from 1) on which the body starts, and what was wrong with it."""
    if not text.startswith(("---", "\ufeff---")):
        return FrontMatter(), 1, ()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter(), 1, ()
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        head = text[opening.end() : opening.end() + MAX_CHARACTERS].partition("\n\n")[0]
        return _closed_if_ruled(head), 1, ("front matter is never closed; read as text",)
    inside = text[opening.end() : closing.start()]
    body_line = text.count("\n", 0, closing.start()) + 2
    return _understood(inside, body_line)


def _understood(inside: str, body_line: int) -> tuple[FrontMatter, int, tuple[str, ...]]:
    if len(inside) > MAX_CHARACTERS:
        return _refused(inside, body_line)
    warnings: list[str] = []
    fields = top_level(inside, warnings)
    if fields is None:  # more likely two rules with prose between them than metadata
        return _closed_if_ruled(inside), 1, (*warnings, "front matter is not a mapping; read as text")
    front = _front_matter(fields, warnings)
    if warnings and not front.access:  # malformed, and the part that was not saved may have held the rule
        front = replace(front, access=_closed_if_ruled(inside).access)
    return front, body_line, tuple(warnings)


def _refused(inside: str, body_line: int) -> tuple[FrontMatter, int, tuple[str, ...]]:
    is_metadata = _FIRST_ENTRY.match(inside) is not None
    what = "its metadata is dropped" if is_metadata else "read as text"
    warning = f"front matter is over {MAX_CHARACTERS // 1024} KB; {what}"
    return _closed_if_ruled(inside), body_line if is_metadata else 1, (warning,)


def _closed_if_ruled(unread: str) -> FrontMatter:
    return FrontMatter(access=(UNREADABLE_ACCESS,) if _ACCESS_KEY.search(unread) else ())


def _front_matter(fields: Fields, warnings: list[str]) -> FrontMatter:
    values = _bounded_values(fields, warnings)
    nodes = {key: fields[key] for key in values}
    front = FrontMatter(
        title=_line(nodes.get("title")),
        description=_line(nodes.get("description")),
        slug=_line(nodes.get("slug")),
        id=_line(nodes.get("id")),
        sidebar_label=_line(nodes.get("sidebar_label")),
        sidebar_position=_number(_line(nodes.get("sidebar_position"))),
        tags=_tags(nodes.get("tags")),
        learning_objectives=_objectives(nodes.get("learning_objectives")),
        access=_access(fields, nodes),
    )
    return replace(front, other=_others(values, front, warnings=warnings))


def _bounded_values(fields: Fields, warnings: list[str]) -> dict[str, Json]:
    """Every value as JSON, without those too big to unfold; the fields we know come first at the budget."""
    unfolding = Unfolding()
    values: dict[str, Json] = {}
    for key in sorted(fields, key=lambda key: key not in _KNOWN and key.lower() != "access"):
        try:
            values[key] = unfolding.value(fields[key])
        except Unreadable as error:
            warnings.append(f"front matter key {key[:80]!r} is dropped: {error}")
    return values


def _others(values: Mapping[str, Json], front: FrontMatter, *, warnings: list[str]) -> dict[str, Json]:
    """What has no field of its own, or did not fit into it."""
    others = {key: value for key, value in values.items() if key.lower() != "access"}
    for key in sorted(_KNOWN & others.keys()):
        if others[key] in (None, "", []) or getattr(front, key) not in (None, ()):
            del others[key]
        else:
            warnings.append(f"front matter key {key!r} holds something else than expected")
    return others


def _line(node: yaml.Node | None) -> str | None:
    text = raw_text(node)
    return None if text is None else " ".join(text.split())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "nan")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _tags(node: yaml.Node | None) -> tuple[str, ...]:
    if isinstance(node, yaml.ScalarNode):
        return tuple(tag.strip() for tag in (raw_text(node) or "").split(",") if tag.strip())
    return tuple(_labels(node))


def _objectives(node: yaml.Node | None) -> tuple[str, ...]:
    if isinstance(node, yaml.ScalarNode):
        lines = (line.strip(" \t-*") for line in (raw_text(node) or "").split("\n"))
        return tuple(line for line in lines if line)
    return tuple(_labels(node))


def _labels(node: yaml.Node | None) -> Iterator[str]:
    for item in node.value if isinstance(node, yaml.SequenceNode) else ():
        label = _pair_label(item) if isinstance(item, yaml.MappingNode) else _line(item)
        if label:
            yield label


def _pair_label(node: yaml.MappingNode) -> str:
    """The label of `{label: a, permalink: /a}`; but `Explain: how` is a sentence that YAML misread."""
    pairs = {_line(key) or "": _line(value) or "" for key, value in node.value}
    return pairs.get("label") or ", ".join(f"{key}: {value}" for key, value in pairs.items())


def _access(fields: Fields, bounded: Fields) -> tuple[str, ...]:
    """The rules as Access.of reads them; whatever is not understood stays as a rule that it rejects."""
    given = [key for key in fields if key.lower() == "access"]
    if not given:
        return ()
    is_plain = len(given) == 1 and given[0] in bounded  # `Access` beside `access` would be a guess
    return tuple(_rules(fields[given[0]]) if is_plain else ()) or (UNREADABLE_ACCESS,)


def _rules(node: yaml.Node) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _named_rules(raw_text(key) or UNREADABLE_ACCESS, value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _rules(item)
    else:
        yield raw_text(node) or UNREADABLE_ACCESS


def _named_rules(name: str, node: yaml.Node) -> Iterator[str]:
    """`owner: ann` or `groups: [a, b]` or `public: true`; `public: false` alone adds no reader."""
    if name in ("public", "project") and node.tag.endswith(":bool"):
        if node.value.lower() in ("true", "yes", "on"):
            yield name
        return
    kind = {"owners": "owner", "groups": "group"}.get(name, name)
    for item in node.value if isinstance(node, yaml.SequenceNode) else (node,):
        yield f"{kind}:{raw_text(item) or ''}"
