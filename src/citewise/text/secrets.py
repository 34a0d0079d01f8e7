"""Credentials in text: found by known shapes of tokens and by what a value is assigned to, and masked by their kind."""

import base64
import binascii
import itertools
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from citewise.text.analysis import STOP_WORDS
from citewise.text.sanitizing import INVISIBLE

_PLACEHOLDER = re.compile(
    r"(?i)your|change[-_]?(?:me|it|this)|replace|example|placeholder|redacted|dummy|sample|insert|todo|fake"
    r"|foo-?bar|x{4,}|\*{3}|\.{3}|…|\{\{|\$\{|\$\(|%\(|<[a-z]"
)
# A token with a well-known beginning is masked even where it says EXAMPLE: better one too many than one too few.
# Random letters spell short words now and then: 36 of them hold "your" once in 30,000 tokens.
_PLACEHOLDER_TOKEN = re.compile(r"(?i)placeholder|redacted|your[-_]|x{5,}|0{8,}|\.{3}")
_VARIABLE = re.compile(r"\$+[A-Za-z_]\w*|\$env:\w+|%\w+%|xxx|[{<\[(].*")
_YAML_MARK = re.compile(r"[!&*@#|>]")  # a tag, an anchor, an alias, a comment, a block
_CODE = re.compile(r"[A-Za-z_$][\w$]*+(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*+)++")  # config.token, env?.KEY
# Words as people write them, also fooBar and FOO, with a number behind; letters in random case are none.
_WORD = r"(?:[A-Z]{2,15}+(?![a-z])|(?:[A-Z]?[a-z]{2,15}+){0,4}+[A-Za-z]?+)\d{0,4}+"
_WORDS = re.compile(rf"{_WORD}(?:[-_.:/]{_WORD})++")  # db-password-2, v1.2
_KNOWN_TERM = re.compile(
    r"(?i)(?:oauth|sha|md|hs|rs|es|aes|rsa|base|utf|int|float|x|ed|argon|ipv)-?"
    r"(?:25519|4096|2048|1024|512|509|384|256|128|64|32|16|8|6|5|4|2)"
)
_PLACE = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]{0,20}:)?//|[.~]{0,2}/|[a-z]:\\|(?:arn|data|file|vault|op|ref):")
_WORDS_FOR_PASSWORD = frozenset({"pass", "password", "passwd", "pw", "pwd", "secret", "token", "key"})
_REMARKS = frozenset(
    (
        *("character", "characters", "default", "empty", "encrypted", "enter", "key", "keys", "long", "may", "minimum"),
        *(
            "must",
            "never",
            "none",
            "optional",
            "passphrase",
            "password",
            "phrase",
            "required",
            "string",
            "used",
            "using",
        ),
        *("without", "word", "words"),
    )
)
_MARKS = frozenset("!@#$%^&*+=?~|")
_MIN_CHARACTERS = 6  # a shorter quoted value is a word, a flag or a joke
_MIN_SCRAMBLED = 10  # characters; of fewer letters, chance alone may spell a name
_SCRAMBLED_SHARE = 0.42  # case changes a character: useIdToken has 0.4, random letters have 0.5
_MIN_KINDS = 4  # different characters; "aaaa-aaaa" and "000000" stand for something


def _is_token(value: str) -> bool:
    """Whether a token with a well-known beginning goes on as if drawn at random."""
    random_like = len(set(value.lower())) > 2 * _MIN_KINDS and _WORDS.fullmatch(value) is None
    return random_like and _PLACEHOLDER_TOKEN.search(value) is None


def _is_url_password(value: str) -> bool:
    return not _is_placeholder(value) and value.lower() not in _WORDS_FOR_PASSWORD


def _is_argument(value: str) -> bool:
    """Whether an argument that can only be a password is one, rather than a word for it such as db_password."""
    return _is_url_password(value) and _WORDS_FOR_PASSWORD.isdisjoint(re.split(r"[-_.]", value.lower()))


def _is_phrase(value: str) -> bool:
    """Whether words were drawn at random, rather than being a remark about a passphrase."""
    words = re.split("[ -]", value)
    return len(set(words)) >= _MIN_KINDS and (STOP_WORDS | _REMARKS).isdisjoint(words)


def _is_header(value: str) -> bool:
    """Whether what follows Bearer or Basic is a credential."""
    return _is_quoted(value) or _is_basic(value)


def _is_basic(value: str) -> bool:
    """Whether it is a name and a password in Base64."""
    try:
        name, colon, password = base64.b64decode(value, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return bool(name and colon and password)


def _is_quoted(value: str) -> bool:
    """Whether a quoted value next to a telling name is a credential rather than a word, a name or a place."""
    if len(value) < _MIN_CHARACTERS or _is_placeholder(value) or _PLACE.match(value):
        return False
    return value.isdigit() or _is_mixed(value)


def _is_bare(value: str) -> bool:
    """The same for a value without quotes, which may be code or YAML."""
    is_code = _CODE.fullmatch(value) is not None or _YAML_MARK.match(value) is not None
    return not is_code and not value.isdigit() and _is_quoted(value)


def _has_few_kinds(value: str) -> bool:
    return len(set(value.lower())) < _MIN_KINDS


def _is_placeholder(value: str) -> bool:
    return _has_few_kinds(value) or _PLACEHOLDER.search(value) is not None or _VARIABLE.fullmatch(value) is not None


def _is_mixed(value: str) -> bool:
    """Letters among digits, marks or each other, terms such as sha256 set aside, and more than joined words."""
    rest = set(_KNOWN_TERM.sub("", value))
    changes = sum(before.isupper() != after.isupper() for before, after in itertools.pairwise(value))
    is_scrambled = len(value) >= _MIN_SCRAMBLED and changes >= _SCRAMBLED_SHARE * len(value)
    digits_or_marks = any(map(str.isdigit, rest)) or not rest.isdisjoint(_MARKS) or is_scrambled
    return digits_or_marks and any(map(str.isalpha, rest)) and _WORDS.fullmatch(value) is None


VERSION = "secrets-3"  # changes when the same text may be masked differently


class Masked(NamedTuple):
    """A text without its credentials, line for line, and how many of each kind there were."""

    text: str
    counts: Mapping[str, int]


class _Span(NamedTuple):
    start: int
    end: int
    kind: str
    counts: bool = True  # a private key has many lines and counts once


_MAX_PASSES = 10  # values of one command, of which each pass finds the next; 1: only the first is masked


def masked(text: str) -> Masked:
    """The text with every credential replaced by its kind; masking twice is masking once."""
    found, counts = _masked_once(text), Counter[str]()
    for _ in range(_MAX_PASSES):
        counts.update(found.counts)
        again = _masked_once(found.text) if found.text != text else found
        if again.text == found.text:
            break
        text, found = found.text, again
    return Masked(found.text, MappingProxyType(dict(sorted(counts.items()))))


def _masked_once(text: str) -> Masked:
    visible, shift = _without_invisible(text)
    parts, counts, at = list[str](), Counter[str](), 0
    cells = (_table_cells(visible, border) for border in _BORDERS)
    spans = itertools.chain(_values(visible), _private_keys(visible), *cells)
    for span in sorted(spans, key=lambda span: span.start):
        start, end = shift(span.start), shift(span.end - 1) + 1
        if start >= at:  # else they overlap, and the first to see a place names it
            parts += (text[at:start], f"<secret:{span.kind}>")
            counts.update([span.kind] if span.counts else [])
        at = max(at, end)
    return Masked("".join((*parts, text[at:])), MappingProxyType(dict(sorted(counts.items()))))


_HIDDEN = re.compile(INVISIBLE.pattern.removesuffix("+"))  # one at a time is several times as fast as runs of them


def _without_invisible(text: str) -> tuple[str, Callable[[int], int]]:
    """The text without characters that nobody sees, and from a place in it to that in the text as it is."""
    if text.isascii() or not _HIDDEN.search(text):
        return text, lambda at: at
    places = [hidden.start() - number for number, hidden in enumerate(_HIDDEN.finditer(text))]
    return _HIDDEN.sub("", text), lambda at: at + bisect_right(places, at)


_MAX_JUDGED = 400  # characters; what a value is shows in its beginning
_MAX_BEFORE = 200  # characters in front of a beginning in which `{at}` looks

# A token starts where a word starts, also behind an escape such as \n, \u0026 or %20.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=\\u00[0-9a-f]{2})|(?<=%[0-9A-F]{2}))"
_OWNERS = ["access", "account", "api", "auth", "encryption", "master", "private", "shared", "signing", "storage"]
_BARE = r"""[^\s"'`<>()\[\]{},;\\&]++(?:&(?!\w{1,40}=)[^\s"'`<>()\[\]{},;\\&]*+)*+"""
_QUOTED = r"""(?P<quote>["'`])(?P<quoted>[^\s"'`]{4,}+)(?P=quote)"""
_GAP = r"(?:[ \t]++(?:\\\r?\n[ \t]*+)?+|\\\r?\n[ \t]*+)"  # in a command, which may go on in the next line
# What may stand between a name and its value: the end of a string or of emphasis, a sign, a type. A bracket
# only behind a quote, so that no mask ("<secret:token>") is ever taken for a name.
_CLOSE = r"""\d{0,2}(?:["'`]\]?|\*{1,2}|__)?[ \t]{0,8}"""
# The value may stand in the next line, also behind the mark of a YAML block, or alone in a block of code.
_NEXT_LINE = r"(?:[|>][+-]?[ \t]{0,8})?(?:\r?\n[ \t>]{0,80}){1,2}(?:`{3}[a-z]{0,12}\r?\n[ \t>]{0,80})?"
_SIGN = rf"(?::=|=>|={{1,3}}|:)\*{{0,2}}[ \t]{{0,8}}(?:(?<!=){_NEXT_LINE})?"
_IS = r"[ \t]{1,4}(?:is|was)(?:[ \t]{1,4}(?:now|still|set[ \t]to))?:?[ \t]{1,4}\*{0,2}"
_TYPED = r""":[ \t]?[A-Za-z_][\w.\[\]|]{0,40}[ \t]?=[ \t]?(?=["'`])"""
_VALUE = (
    rf"(?:{_QUOTED}"
    # In a sentence a value ends before the point.
    r"""|(?(is)(?P<said>[^\s"'`<>()\[\]{},;\\*]{4,200}(?<![.:?]))(?=[.,;:!?)*]{0,4}(?:\s|\Z))|(?:"""
    # NAME=value is the shell's form, and anything may follow it but a call, an index or the next argument.
    rf"(?<==)(?![A-Za-z_]\w*+[(\[{{,)])(?P<env>{_BARE})(?![(\[{{])"
    # Any other bare value ends its line; otherwise it is a sentence or code.
    rf"|(?P<bare>{_BARE})(?=[,;]?[ \t]{{0,80}}(?:[\r\n]|\Z|\#|//|</)))))"
)
_PARTS = {
    "close": _CLOSE,
    "sign": _SIGN,
    "is": _IS,
    "assigned": f"{_CLOSE}(?:{_TYPED}|{_SIGN}|(?P<is>{_IS})){_VALUE}",
    "owner": "(?:" + "|".join(f"(?<={owner})|(?<={owner}[_-])" for owner in _OWNERS) + ")",
    "option": r"(?<![\w-])--?[\w-]{0,40}",
    "argument": rf"[ \t]{{1,4}}(?:{_QUOTED}|(?P<word>{_BARE}))",
    "tag": r"<(?!secret:)[\w.:-]{0,40}",  # a mask is no tag
    "content": r"(?:[ \t][^<>\n]{0,200})?>\s{0,40}(?!\w{1,40}=)(?P<text>[^\s<>]{4,}+)\s{0,40}</",
    "args": rf"(?:{_GAP}(?!\\)\S++){{0,40}}?{_GAP}",
    "word": _BARE,
}


class _Rule(NamedTuple):
    """A line of data/secret-shapes.txt."""

    kind: str
    judge: str
    pattern: re.Pattern[str]
    before: re.Pattern[str] | None

    def match(self, text: str, at: int) -> re.Match[str] | None:
        match = self.pattern.match(text, at)
        is_apart = match and self.before and not self.before.search(text, max(0, at - _MAX_BEFORE), at)
        return None if is_apart else match

    def is_real(self, match: re.Match[str]) -> bool:
        judge = "quoted" if match.lastgroup == "quoted" else self.judge
        return _JUDGES[judge](match[match.lastindex or 0][:_MAX_JUDGED])


_JUDGES: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "token": _is_token,  # and it is near a long run of such characters
        "random": _is_token,
        "url": _is_url_password,
        "argument": _is_argument,
        "header": _is_header,
        "basic": _is_basic,
        "phrase": _is_phrase,
        "named": _is_bare,
        "quoted": _is_quoted,
    }
)


@cache
def _rules() -> Mapping[tuple[bytes, bool], tuple[_Rule, ...]]:
    """By how every instance begins, and whether it is a token; of those that fit, the first tells the kind."""
    rules = defaultdict[tuple[bytes, bool], tuple[_Rule, ...]](tuple)
    for line in files("citewise").joinpath("data", "secret-shapes.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, judge, beginnings, shape, _ = line.split("  ")
            for beginning in beginnings.split(","):
                rules[beginning.encode(), judge == "token"] += (_rule(kind, judge, shape),)
    return rules


def _rule(kind: str, judge: str, shape: str) -> _Rule:
    flags = re.IGNORECASE if shape.startswith("(?i)") else re.NOFLAG
    written = re.sub(r"\{([a-z]+)\}", lambda part: _PARTS.get(part[1], part[0]), shape.removeprefix("(?i)"))
    before, _, after = written.rpartition("{at}")
    pattern = re.compile(after, flags)
    if judge == "token" and not pattern.groups:  # a long random rest follows its beginning, without a break
        pattern = re.compile(f"{_START}({after})(?![A-Za-z0-9])", flags)
    return _Rule(kind, judge, pattern, re.compile(rf"(?:{before})\Z", flags) if before else None)


_LONG_RUN = b"x" * 20  # every token has such a run of characters somewhere, and a digit or a capital letter in it
_NEAR = 100  # characters in front of that run in which a token must have begun
_IN_TOKEN = bytes(ord("x" if re.match(r"[\w%+=~-]", chr(code), re.ASCII) else " ") for code in range(256))
_DIGIT_OR_CAPITAL = re.compile(rb"[0-9A-Z]")


class _Snippet(NamedTuple):
    """Parts of a text, one byte for each character, with line ends between them."""

    content: bytes
    offsets: Sequence[int]  # of the parts, in here
    starts: Sequence[int]  # and in the text

    def places(self, beginning: bytes) -> Iterator[int]:
        at = self.content.find(beginning)
        while at >= 0:
            part = bisect_right(self.offsets, at) - 1
            yield at - self.offsets[part] + self.starts[part]
            at = self.content.find(beginning, at + 1)


def _values(text: str) -> Iterator[_Span]:
    plain = text.encode("ascii", "replace")
    excerpts = {True: _near_long_runs(plain), False: _Snippet(plain.lower(), (0,), (0,))}
    for (beginning, is_token), rules in _rules().items():
        seen_to = 0
        for at in excerpts[is_token].places(beginning):
            if at < seen_to:  # in a value, real or not: to look again from inside it could take quadratic time
                continue
            for rule in rules:
                if match := rule.match(text, at):
                    seen_to = match.end()
                    if rule.is_real(match):
                        yield _Span(*match.span(match.lastindex or 0), rule.kind)
                    break


def _near_long_runs(plain: bytes) -> _Snippet:
    runs = plain.translate(_IN_TOKEN) + b" "
    parts, starts, seen_to = list[bytes](), list[int](), 0
    at = runs.find(_LONG_RUN)
    while at >= 0:
        end = runs.index(b" ", at)
        if _DIGIT_OR_CAPITAL.search(plain, at, end):
            starts.append(max(seen_to, at - _NEAR))
            parts.append(plain[starts[-1] : end])
            seen_to = end
        at = runs.find(_LONG_RUN, end)
    return _Snippet(b"\n".join(parts), [0, *itertools.accumulate(len(part) + 1 for part in parts)], starts)


# Tables: a column under a telling name holds what could stand behind that name. Each line is looked at once or twice.

NAMES = (
    r"(?!(?<=<)secret:[a-z-]{1,40}+>)"  # a mask is no name
    r"(?:(?P<phrase>pass[ _-]?phrase)|(?P<password>passw(?:or)?d|pwd)|(?P<token>token)"
    r"|(?P<key>(?:api|access|private|secret)[ _-]?key)|(?P<secret>secret))"
)
_KINDS = {"phrase": "password", "password": "password", "token": "token", "key": "key", "secret": "shared-secret"}
_COLUMN = re.compile(rf"(?i)(?:[\w-]{{1,40}}[ _-])?{NAMES}")
_BORDERS = (re.compile(r"\|[ \t]{0,8}:?-"), re.compile(r"\+[-=]"))
_DELIMITER_ROW = re.compile(r"[ \t>]*+[|:+=-][ \t|:+=-]*+\r?")
_PIPE = re.compile(r"(?<!\\)\|")
_AROUND_CELL = " \t\r*_\"'`"


def _table_cells(text: str, border_shape: re.Pattern[str]) -> Iterator[_Span]:
    at = 0
    while border := border_shape.search(text, at):
        start, at = _line(text, border.start())
        header = _line(text, start - 1) if start else (0, 0)
        if not _DELIMITER_ROW.fullmatch(text, start, at) or text.find("|", *header) < 0:
            continue
        names = (_COLUMN.fullmatch(text[slice(*cell)].strip(_AROUND_CELL)) for cell in _cells(text, *header))
        kinds = [kind_of(name) if name else "" for name in names]
        for row in _rows(text, at):
            at = row[1]
            for kind, cell in zip(kinds, _cells(text, *row) if any(kinds) else (), strict=False):
                value = text[slice(*cell)].strip(_AROUND_CELL)
                if kind and len(value.split()) == 1 and _is_bare(value[:_MAX_JUDGED]):
                    first = text.index(value, *cell)
                    yield _Span(first, first + len(value), kind)


def _line(text: str, at: int) -> tuple[int, int]:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def _rows(text: str, at: int) -> Iterator[tuple[int, int]]:
    """The lines behind a table's header, as long as they belong to it."""
    while at < len(text):
        start, at = _line(text, at + 1)
        if text.find("|", start, at) < 0 and not _DELIMITER_ROW.fullmatch(text, start, at):
            return
        yield start, at


def _cells(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    edges = [start - 1, *(pipe.start() for pipe in _PIPE.finditer(text, start, end)), end]
    has_border = not text[start : edges[1]].strip(" \t>")
    return ((left + 1, right) for left, right in itertools.pairwise(edges[has_border:]))


def kind_of(name: re.Match[str]) -> str:
    return next(kind for group, kind in _KINDS.items() if name[group])


# Private keys: everything between the first and the last line of the armor; of PuTTY's, as many lines as it says.

_FIRST_LINES = (
    re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?P<lines>)"),
    re.compile(r"Private-Lines:[ \t]{0,4}(?P<lines>\d{1,4})"),
)
_STOP = re.compile(r"\n|-----|Private-")
# A key inside a string has the two characters \n where its lines end.
_KEY_LINE = re.compile(r"\W*+([A-Za-z0-9+/=]{16,}+(?:(?:\\[rn])++[A-Za-z0-9+/=]++)*+)(?:\\[rn]|\W)*+")
_KEY_REST = re.compile(r"\W*?([A-Za-z0-9+/=]{2,}+)(?:\\[rn]|\W)*+")  # once it has begun, a line may be short
_BETWEEN = re.compile(r"\s*+(?:[A-Za-z-]{1,40}: .*+|(?:\\[rn]|\W)*+)", re.DOTALL)  # a header, or nothing at all


def _private_keys(text: str) -> Iterator[_Span]:
    for first_line in _FIRST_LINES:
        at = 0
        while first := first_line.search(text, at):
            at = first.start() + 1
            lines = itertools.islice(_key_lines(text, first.end()), int(first["lines"]) if first["lines"] else None)
            for number, (start, at) in enumerate(lines):
                yield _Span(start, at, "private-key", counts=number == 0)


def _key_lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    begun = False
    while True:
        stop = _STOP.search(text, start)
        end = len(text) if stop is None else stop.start()
        line = (_KEY_REST if begun else _KEY_LINE).fullmatch(text, start, end)
        if line is not None and (begun or not _has_few_kinds(line.group(1))):
            begun = True
            yield line.span(1)
        elif line is None and _BETWEEN.fullmatch(text, start, end) is None:
            return
        if stop is None or stop.group() != "\n":
            return
        start = stop.end()
