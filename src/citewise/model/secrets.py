"""Credentials in well-known shapes, taken out of a text before anything is stored or embedded (D6).

Three finders, each cheap where there is nothing: tokens are looked for only in unbroken runs of characters,
assigned values only behind telling names, private keys only behind their first line. Runs and names are found
by plain byte search. Every pattern is bounded, possessive or tied to a boundary, so hostile text costs linear
time. What only stands for a credential (`<token>`, `changeme`) stays; `model.secret_values` judges that.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from citewise.model.secret_values import (
    has_few_kinds,
    is_real_bare,
    is_real_header,
    is_real_quoted,
    is_real_token,
    is_real_url_password,
)

VERSION = "secrets-1"  # changes when the same text may be masked differently


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its credentials, line for line, and how many of each kind there were."""

    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    kind: str
    counts: bool = True  # a private key has many lines and counts once


def masked(text: str) -> Masked:
    """The text with every credential replaced by its kind; masking twice is masking once."""
    # One byte for each character, so that offsets hold in both.
    plain = text.encode("ascii", "replace")
    spans = _joined((*_tokens(text, plain), *_assigned(text, plain), *_private_keys(text, plain)))
    if not spans:
        return Masked(text, MappingProxyType({}))
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += (text[at : span.start], f"<secret:{span.kind}>")
        at = span.end
    counts = Counter(span.kind for span in spans if span.counts)
    return Masked("".join((*parts, text[at:])), MappingProxyType(dict(sorted(counts.items()))))


def _joined(spans: Iterable[_Span]) -> list[_Span]:
    """In order of place, overlapping ones as one; the first finder to see a place names it."""
    joined: list[_Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        last = joined[-1] if joined else None
        if last is None or span.start >= last.end:
            joined.append(span)
        elif span.end > last.end:
            joined[-1] = _Span(last.start, span.end, last.kind, last.counts)
    return joined


_LONGEST_JUDGED = 400  # characters; what a value is shows in its beginning

# Tokens: a telling beginning and a long random rest, without a break.

_RUN_CHARACTERS = frozenset((string.ascii_letters + string.digits + "_-.").encode())
_RUNS = bytes(ord("a") if byte in _RUN_CHARACTERS else ord(" ") for byte in range(256))
_LONG = b"a" * 20  # the shortest token of all, an AWS access key id, has 20 characters
# Few long names in links and code have a digit; of these tokens, some in a hundred have none either.
_VARIED = re.compile(rb"[0-9]|A(?:[KS]IA|Iza)|gh[opsur]_|hf_|glpat-|[rs]k[_-]|npm_|xox")
# A token starts where a word starts, also behind an escape such as \n or %20.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
_END = r"(?![A-Za-z0-9])"
_SHAPES = {
    "aws-access-key": r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "github-token": r"(?:gh[opsur]_[A-Za-z0-9]{30,}+|github_pat_[A-Za-z0-9_]{30,}+)",
    "gitlab-token": r"glpat-[A-Za-z0-9_-]{20,}+",
    "slack-token": r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{16,}+",
    "google-api-key": r"AIza[A-Za-z0-9_-]{35}",
    "stripe-key": r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}+",
    "model-api-key": r"(?<![_-])sk-[A-Za-z0-9_-]{20,}+",
    "hugging-face-token": r"hf_[A-Za-z0-9]{30,}+",
    "npm-token": r"npm_[A-Za-z0-9]{30,}+",
    "pypi-token": r"pypi-[A-Za-z0-9_-]{40,}+",
    "sendgrid-key": r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{32,64}",
    "twilio-key": r"SK[0-9a-f]{32}",
    "digitalocean-token": r"do[opr]_v1_[0-9a-f]{64}",
    "vault-token": r"hv[sb]\.[A-Za-z0-9_-]{24,}+",
    "google-oauth-token": r"ya29\.[A-Za-z0-9_-]{20,}+",
    "docker-token": r"dckr_pat_[A-Za-z0-9_-]{20,}+",
    "shopify-token": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "jwt": r"(?<![_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+",
}
_TOKEN = re.compile(
    _START + "(?:" + "|".join(f"({shape})" for shape in _SHAPES.values()) + ")" + _END,
)
_TOKEN_KINDS = tuple(_SHAPES)


def _tokens(text: str, plain: bytes) -> Iterator[_Span]:
    runs = plain.translate(_RUNS)
    start = runs.find(_LONG)
    while start >= 0:
        end = runs.find(b" ", start)
        end = len(runs) if end < 0 else end
        if _VARIED.search(plain, start, end):
            yield from _tokens_in_run(text, start, end)
        start = runs.find(_LONG, end)


def _tokens_in_run(text: str, start: int, end: int) -> Iterator[_Span]:
    for match in _TOKEN.finditer(text, start, end):
        if match.lastindex is not None and is_real_token(match.group()[:_LONGEST_JUDGED]):
            yield _Span(*match.span(), _TOKEN_KINDS[match.lastindex - 1])


# Values behind a telling name. In each pattern the last group that matched is the value.


@dataclass(frozen=True, slots=True)
class _Way:
    """A way of writing a credential down."""

    kind: str
    pattern: re.Pattern[str]
    is_real: Callable[[str], bool] | None = None  # None: it depends on whether the value is quoted


_OWNERS = (
    "access",
    "account",
    "api",
    "auth",
    "encryption",
    "master",
    "private",
    "shared",
    "signing",
    "storage",
)
_KEY = "(?:" + "|".join(f"(?<={owner})|(?<={owner}[_-])" for owner in _OWNERS) + ")key"
_SECRET = "secret(?:[_-]?(?:access[_-]?)?key)?"
# What may stand between a name and its value: the end of a string or of emphasis, a sign, a type. A bracket
# only behind a quote, so that no mask ("<secret:token>") is ever taken for a name.
_CLOSE = r"""\d{0,2}(?:["'`]\]?|\*{1,2}|__)?[ \t]{0,8}"""
_SIGN = r"(?::=|=>|={1,3}|:)\*{0,2}[ \t]{0,8}"
_TYPED = r""":[ \t]?[A-Za-z_][\w.\[\]|]{0,40}[ \t]?=[ \t]?(?=["'`])"""
_BARE = r"""[^\s"'`<>()\[\]{},;\\&]++(?:&(?!\w{1,40}=)[^\s"'`<>()\[\]{},;\\&]*+)*+"""
_VALUE = (
    r"""(?:(["'`])(?P<quoted>[^\s"'`]{4,}+)\1"""
    # NAME=value is the shell's form, and anything may follow it but a call, an index or the next argument.
    rf"|(?<==)(?![A-Za-z_]\w*+[(\[{{,)])(?P<env>{_BARE})(?![(\[{{])"
    # Any other bare value ends its line; otherwise it is a sentence or code.
    rf"|(?P<bare>{_BARE})(?=[,;]?[ \t]{{0,80}}(?:[\r\n]|\Z|\#|//|</)))"
)


def _assignment(kind: str, name: str) -> _Way:
    return _Way(kind, re.compile(f"(?i:{name}){_CLOSE}(?:{_TYPED}|{_SIGN}){_VALUE}"))


_AWS_SECRET = re.compile(rf"""(?i:{_SECRET}){_CLOSE}{_SIGN}["'`]?([A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+=])""")
_HEADER = re.compile(
    r"""(?i:authorization)(?:["'`]\]?)?[ \t]{0,4}(?:[:=,]|=>)[ \t]{0,4}["'`]?"""
    r"(?i:bearer|basic|token)[ \t]{1,4}([A-Za-z0-9._~+/=-]{8,}+)"
)
_URL = re.compile(r"""://[^\s/@:"'<>?#]{0,64}:([^\s/@"'<>]{1,300})@""")
_WEBHOOK = re.compile(r"://hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/-]{20,300})")
# By a string that is in every instance, in lower case; the first way that fits tells the kind.
_WAYS: Mapping[bytes, tuple[_Way, ...]] = MappingProxyType(
    {
        b"://": (
            _Way("url-password", _URL, is_real_url_password),
            _Way("slack-webhook", _WEBHOOK, is_real_token),
        ),
        b"authorization": (_Way("authorization", _HEADER, is_real_header),),
        b"pass": (_assignment("password", "pass(?:w(?:or)?d|phrase)"),),
        b"pwd": (_assignment("password", "pwd"),),
        b"secret": (
            _Way("aws-secret-key", _AWS_SECRET, is_real_token),
            _assignment("shared-secret", _SECRET),
        ),
        b"token": (_assignment("token", "token"),),
        b"key": (_assignment("key", _KEY),),
    }
)


def _assigned(text: str, plain: bytes) -> Iterator[_Span]:
    lower = plain.lower()
    for anchor, ways in _WAYS.items():
        at = lower.find(anchor)
        while at >= 0:
            seen_to, span = _value_at(text, at, ways)
            if span is not None:
                yield span
            at = lower.find(anchor, max(seen_to, at + len(anchor)))


def _value_at(text: str, at: int, ways: tuple[_Way, ...]) -> tuple[int, _Span | None]:
    """How far the text was looked at, and the value if it is a credential.

    The caller goes on behind a value, real or not: to look again from inside it could take quadratic time.
    """
    for way in ways:
        match = way.pattern.match(text, at)
        if match is not None and match.lastindex is not None:
            real = _is_real(way, match)
            return match.end(), _Span(*match.span(match.lastindex), way.kind) if real else None
    return at, None


def _is_real(way: _Way, match: re.Match[str]) -> bool:
    value = match.group(match.lastindex or 0)[:_LONGEST_JUDGED]
    if way.is_real is not None:
        return way.is_real(value)
    return is_real_quoted(value) if match.lastgroup == "quoted" else is_real_bare(value)


# Private keys: everything between the first and the last line of the armor.

_ARMOR = b"-----BEGIN "
_FIRST_LINE = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_STOP = re.compile(r"\n|-----")
# A key inside a string has the two characters \n where its lines end.
_KEY_LINE = re.compile(r"\W*+([A-Za-z0-9+/=]{16,}+(?:(?:\\[rn])++[A-Za-z0-9+/=]++)*+)(?:\\[rn]|\W)*+")
_KEY_REST = re.compile(r"\W*?([A-Za-z0-9+/=]{2,}+)(?:\\[rn]|\W)*+")  # once it has begun, a line may be short
_BETWEEN = re.compile(r"\s*+(?:[A-Za-z-]{1,40}: .*+|(?:\\[rn]|\W)*+)", re.DOTALL)  # a header, or nothing at all


def _private_keys(text: str, plain: bytes) -> Iterator[_Span]:
    at = plain.find(_ARMOR)
    while at >= 0:
        first = _FIRST_LINE.match(text, at)
        lines = [] if first is None else list(_key_lines(text, first.end()))
        for number, (start, end) in enumerate(lines):
            yield _Span(start, end, "private-key", counts=number == 0)
        at = plain.find(_ARMOR, lines[-1][1] if lines else at + len(_ARMOR))


def _key_lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    begun = False
    stop = _STOP.search(text, start)
    while True:
        end = len(text) if stop is None else stop.start()
        line = (_KEY_REST if begun else _KEY_LINE).fullmatch(text, start, end)
        if line is not None and (begun or not has_few_kinds(line.group(1))):
            begun = True
            yield line.span(1)
        elif line is None and _BETWEEN.fullmatch(text, start, end) is None:
            return
        if stop is None or stop.group() != "\n":
            return
        start = stop.end()
        stop = _STOP.search(text, start)
