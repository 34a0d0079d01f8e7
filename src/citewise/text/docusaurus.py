"""Where a Docusaurus site publishes its docs, read from its configuration as text. Nothing of it is run.

Only what is written out counts: strings in quotes, in the shape that Docusaurus documents. Whatever is computed or not
understood is BadData with the reason, since a wrong URL is worse than none.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from citewise.errors import BadData
from citewise.text.urls import encoded_path

NAMES = tuple(f"docusaurus.config.{suffix}" for suffix in ("js", "ts", "mjs", "cjs"))

_TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*(?:.*?\*/|.*\Z)
    | (?P<text>'(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*" | `(?:[^`\\]|\\.)*`)
    | (?P<open>[{\[(]) | (?P<close>[}\])])
    | (?P<word>[\w$]+)
    | (?P<sign>[^'"`])""",
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_BEFORE_A_REGEX = frozenset(("", *"(,=:[!&|?{};", "return"))
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?/?")
_OF_THE_TEMPLATE = "//your-docusaurus-"  # site.example.com, test-site.com
_PRESETS = ("classic", "@docusaurus/classic", "@docusaurus/preset-classic")
_PLUGINS = ("content-docs", "@docusaurus/plugin-content-docs")
_OTHERS = "..."  # the key of what another object adds
_ODD_OPTIONS = (_OTHERS, "numberPrefixParser")
_VERSION_OPTIONS = ("versions", "lastVersion", "includeCurrentVersion", "onlyIncludeVersions", "disableVersioning")


class _Lexeme(NamedTuple):
    kind: str  # text, open, close, word or sign
    text: str


@dataclass(slots=True)
class _Braces:
    """What stands between brackets: the values of an object by key, or the elements of an array."""

    bracket: str
    values: "dict[str, _Value]" = field(default_factory=dict)
    elements: "list[_Value]" = field(default_factory=list)
    key: str | None = None  # of the entry that is being read
    terms: "list[_Lexeme | _Braces]" = field(default_factory=list)

    def add(self, term: "_Lexeme | _Braces") -> None:
        if isinstance(term, _Lexeme) and term.text == "," and term.kind == "sign":
            self.end_entry()
        elif self.bracket == "{" and term == _COLON and self.key is None and len(self.terms) == 1:
            before = self.terms.pop()
            self.key = before.text.strip("'\"`") if isinstance(before, _Lexeme) else _OTHERS
        else:
            self.terms.append(term)

    def end_entry(self) -> None:
        terms, key = self.terms, self.key
        is_written_out = len(terms) == 1 or (len(terms) > 1 and terms[1] in _TYPED)
        value = terms[0] if is_written_out else None
        if key is None and terms and self.bracket == "{":  # a name alone, a method, or `...others`
            first = terms[0]
            self.values[first.text if isinstance(first, _Lexeme) and first.kind == "word" else _OTHERS] = None
        elif key is not None:
            self.values[key] = value
        elif terms:
            self.elements.append(value)
        self.key, self.terms = None, []


_Value: TypeAlias = "_Lexeme | _Braces | None"  # None: not written out
_COLON = _Lexeme("sign", ":")
_TYPED = (_Lexeme("word", "satisfies"), _Lexeme("word", "as"))  # TypeScript's, behind a value


def published_docs(config: str, beside: Collection[str]) -> Mapping[str, str]:
    """The folders of a site's docs, relative to the folder of its configuration, and the URL that each begins with.

    `beside`: the names of the files in that folder. Raises BadData where the text does not say it.
    """
    site = _site(config)
    origin, base_url = _text(site, "url"), _text(site, "baseUrl")
    if not _ORIGIN.fullmatch(origin):
        raise BadData("its url is not an address such as https://docs.example.com")
    if _OF_THE_TEMPLATE in origin:
        raise BadData("its url is still the one of Docusaurus' template")
    base = f"{origin.rstrip('/')}/{encoded_path(base_url)}"
    plugins = list(_docs_options(site))
    if not plugins:
        raise BadData("it names no docs that are written out in it")
    return dict(_published(options, base, beside) for options in plugins)


def _published(options: _Braces, base: str, beside: Collection[str]) -> tuple[str, str]:
    """A folder of docs and its URL, from the options of the plugin."""
    if odd := [name for name in _ODD_OPTIONS if name in options.values]:
        raise BadData(f"the options of its docs have {odd[0]}, which is not read")
    folder = posixpath.normpath(_text(options, "path", default="docs"))
    if folder.startswith(("/", "../..")) or folder == "..":
        raise BadData("its docs are not in its folder or in one beside it")
    parts = [base, encoded_path(_text(options, "routeBasePath", default="docs"))]
    plugin = _text(options, "id", default="default")
    if ("versions.json" if plugin == "default" else f"{plugin}_versions.json") in beside:
        if any(name in options.values for name in _VERSION_OPTIONS):
            raise BadData("its docs have versions with options, which are not read")
        parts.append("next")  # the folder has what is not released yet
    return folder, "/".join(part.strip("/") for part in parts if part) + "/"


def _docs_options(site: _Braces) -> Iterator[_Braces]:
    """The options of each docs plugin, of the classic preset or on its own."""
    for name, options in _named(site, "presets"):
        docs = options.values.get("docs", _Braces("{")) if name in _PRESETS and _OTHERS not in options.values else None
        if isinstance(docs, _Braces):
            yield docs
        elif name in _PRESETS and docs != _Lexeme("word", "false"):
            raise BadData("the docs of its preset are not written out")
    for name, options in _named(site, "plugins"):
        if name in _PLUGINS:
            yield options


def _named(site: _Braces, key: str) -> Iterator[tuple[str, _Braces]]:
    """Presets or plugins that are written out: a name, or an array of a name and its options."""
    listed = site.values.get(key)
    for element in listed.elements if isinstance(listed, _Braces) else ():
        name, *more = element.elements if isinstance(element, _Braces) and element.elements else (element,)
        if isinstance(name, _Lexeme) and name.kind == "text":
            options = more[0] if more else _Braces("{")
            # Options that a name stands for may be anything.
            yield name.text[1:-1], options if isinstance(options, _Braces) else _Braces("{", {_OTHERS: None})


def _text(group: _Braces, key: str, *, default: str | None = None) -> str:
    """A string that is written out, without escapes, and without control characters."""
    if key not in group.values and default is not None:
        return default
    value = group.values.get(key)
    if not isinstance(value, _Lexeme) or value.kind != "text" or "\\" in value.text or "${" in value.text:
        raise BadData(f"its {key} is not a string in quotes")
    if not value.text.isprintable():
        raise BadData(f"its {key} holds a control character")
    return value.text[1:-1]


def _site(config: str) -> _Braces:
    """The object that has the site's `url` and `baseUrl`."""
    groups, closed = [_Braces("")], list[_Braces]()
    for token in _tokens(config):
        if token.kind == "open":
            groups.append(_Braces(token.text))
        elif token.kind == "close":
            group = groups.pop()
            if f"{group.bracket}{token.text}" not in ("{}", "[]", "()") or not groups:
                raise BadData("its brackets do not match")
            group.end_entry()
            closed.append(group)
            is_in_parentheses = group.bracket == "(" and len(group.elements) == 1 and not groups[-1].terms
            inner = group.elements[0] if is_in_parentheses else None
            groups[-1].add(inner or group)
        else:
            groups[-1].add(token)
    sites = [group for group in closed if {"url", "baseUrl"} <= group.values.keys()]
    if len(groups) != 1 or len(sites) != 1 or _OTHERS in sites[0].values:
        raise BadData("its url and baseUrl are not written out in one object")
    return sites[0]


def _tokens(config: str) -> Iterator[_Lexeme]:
    """The tokens, without comments. A regular expression is a sign."""
    at, before = 0, ""
    while at < len(config):
        match = _TOKEN.match(config, at)
        if match and match["sign"] == "/" and before in _BEFORE_A_REGEX:
            match = _REGEX.match(config, at)
        if match is None:  # at once, since looking for an end from each place would take quadratic time
            raise BadData("it has a string or a regular expression without an end")
        kind = match.lastgroup if match.re is _TOKEN else "sign"
        if kind is not None:
            before = match.group()
            yield _Lexeme(kind, before)
        at = match.end()
