"""YAML mappings from untrusted text: bounded in size, depth and aliases, and never making objects.

Values stay nodes, because a title such as `1.10` or `2024-01-01` must keep the characters its author typed.
"""

import math
import re
from collections.abc import Mapping
from datetime import date
from itertools import pairwise

import yaml

from citewise.model.block import Json

Fields = Mapping[str, yaml.Node]

MAX_NODES = 10_000  # of one front matter with its aliases written out; real ones have a few dozen
MAX_DEPTH = 40
MAX_SALVAGED = 200  # top-level entries looked at one by one when the whole is malformed
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is an optional part of PyYAML
_ENTRY = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
_LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)
_NULL = "tag:yaml.org,2002:null"
_TEXT = "tag:yaml.org,2002:str"


class Unreadable(Exception):
    """This is not YAML, or more of it than anyone writes by hand."""


def top_level(text: str, warnings: list[str]) -> Fields | None:
    """The entries of a mapping, saving what can be saved of a malformed one; None: it is no mapping."""
    try:
        return _fields(_root(text), warnings)
    except Unreadable as error:
        warnings.append(f"front matter is not valid YAML: {error}")
    try:
        return _fields(_root(_LEADING_TABS.sub(lambda tabs: "  " * len(tabs[0]), text)), warnings)
    except Unreadable:
        return _salvaged(text, warnings) or None


def raw_text(node: yaml.Node | None) -> str | None:
    """A scalar as it was typed; None for null, blank or anything that is not a scalar."""
    if not isinstance(node, yaml.ScalarNode) or node.tag == _NULL:
        return None
    return str(node.value).strip() or None


def _root(text: str) -> yaml.Node | None:
    try:
        _check_size(text)
        loader = _LOADER(text)
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = getattr(error, "problem", None) or type(error).__name__
        raise Unreadable(str(reason)) from error


def _check_size(text: str) -> None:
    """Refuse before composing: nodes are composed by recursion, in C without a net."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_LOADER)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH or count > 2 * MAX_NODES:
            raise Unreadable("it is nested too deeply or too long")


def _fields(root: yaml.Node | None, warnings: list[str]) -> Fields | None:
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        return None
    fields: dict[str, yaml.Node] = {}
    unfolding = Unfolding()
    for key, value in root.value:
        _add(fields, unfolding.key(key), value=value, warnings=warnings)
    return fields


def _add(fields: dict[str, yaml.Node], key: str, *, value: yaml.Node, warnings: list[str]) -> None:
    if key in fields:
        warnings.append(f"front matter has the key {key[:80]!r} twice; the last one counts")
        if key.lower() == "access":  # a guess between two rules might open what was meant to be closed
            value = yaml.ScalarNode(_TEXT, "(given twice)")
    fields[key] = value


_NO_TEXT = ("[", "{", "&", "*", "!", "|", ">")


def _salvaged(text: str, warnings: list[str]) -> Fields:
    fields: dict[str, yaml.Node] = {}
    for entry in _entries(text):
        try:
            for key, value in (_fields(_root(entry), warnings) or {}).items():
                _add(fields, key, value=value, warnings=warnings)
        except Unreadable:
            key, _, rest = entry.partition(":")
            if rest.lstrip().startswith(_NO_TEXT) and key.strip().lower() != "access":
                continue  # a list or mapping that never ends is no text; the rule about readers must not vanish so
            bare = yaml.ScalarNode(_TEXT, rest.strip().strip("\"'"))
            _add(fields, key.strip(), value=bare, warnings=warnings)
    return fields


def _entries(text: str) -> list[str]:
    """Each top-level `key: ...` with the lines that belong to it."""
    starts = [match.start() for match in _ENTRY.finditer(text)][:MAX_SALVAGED]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


class Unfolding:
    """Turns nodes into what JSON would hold, counting: a few aliases can stand for billions of nodes."""

    def __init__(self) -> None:
        self._left = MAX_NODES
        self._constructor = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, depth: int = 0) -> Json:
        """The value, or Unreadable when the count runs out."""
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise Unreadable("its aliases unfold into too much")
        if isinstance(node, yaml.MappingNode):
            return {self.key(key): self.value(value, depth + 1) for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return self._scalar(node)

    def key(self, node: yaml.Node) -> str:
        return str(node.value) if isinstance(node, yaml.ScalarNode) else str(self.value(node))

    def _scalar(self, node: yaml.Node) -> Json:
        """A number, truth value, null or text; dates and everything with a tag of its own as text."""
        try:
            value = self._constructor.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError):
            return str(node.value)
        if isinstance(value, date):  # a datetime is one too
            return value.isoformat()
        if isinstance(value, float) and not math.isfinite(value):
            return str(node.value)
        if isinstance(value, int) and abs(value) >= 2**63:  # nothing that stores or prints it need take more
            return str(node.value)
        return value if isinstance(value, str | int | float | None) else str(node.value)
