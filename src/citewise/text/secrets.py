"""Credentials in text: found by known shapes of tokens and by what a value is assigned to, and masked by their kind."""

import base64
import binascii
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

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


def _is_header(value: str) -> bool:
    """Whether what follows Bearer or Basic is a credential."""
    if _is_quoted(value):
        return True
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


VERSION = "secrets-2"  # changes when the same text may be masked differently


class Masked(NamedTuple):
    """A text without its credentials, line for line, and how many of each kind there were."""

    text: str
    counts: Mapping[str, int]


class _Span(NamedTuple):
    start: int
    end: int
    kind: str
    counts: bool = True  # a private key has many lines and counts once


def masked(text: str) -> Masked:
    """The text with every credential replaced by its kind; masking twice is masking once."""
    parts, counts, at = list[str](), Counter[str](), 0
    for span in sorted((*_values(text), *_private_keys(text)), key=lambda span: span.start):
        if span.start >= at:  # else they overlap, and the first to see a place names it
            parts += (text[at : span.start], f"<secret:{span.kind}>")
            counts.update([span.kind] if span.counts else [])
        at = max(at, span.end)
    return Masked("".join((*parts, text[at:])), MappingProxyType(dict(sorted(counts.items()))))


_MAX_JUDGED = 400  # characters; what a value is shows in its beginning

# Values behind a telling name, and tokens with a telling beginning. In each pattern the last group that matched is the
# value. A token starts where a word starts, also behind an escape such as \n or %20.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"


class _Rule(NamedTuple):
    kind: str
    pattern: re.Pattern[str]
    is_real: Callable[[str], bool] | None = None  # None: it depends on whether the value is quoted


_OWNERS = ["access", "account", "api", "auth", "encryption", "master", "private", "shared", "signing", "storage"]
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


def _assignment(kind: str, name: str) -> _Rule:
    return _Rule(kind, re.compile(f"(?i:{name}){_CLOSE}(?:{_TYPED}|{_SIGN}){_VALUE}"))


_AWS_SECRET = re.compile(rf"""(?i:{_SECRET}){_CLOSE}{_SIGN}["'`]?([A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+=])""")
_HEADER = re.compile(
    r"""(?i:authorization)(?:["'`]\]?)?[ \t]{0,4}(?:[:=,]|=>)[ \t]{0,4}["'`]?"""
    r"(?i:bearer|basic|token)[ \t]{1,4}([A-Za-z0-9._~+/=-]{8,}+)"
)
_URL = re.compile(r"""://[^\s/@:"'<>?#]{0,64}:([^\s/@"'<>]{1,300})@""")
_WEBHOOK = re.compile(r"://hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/-]{20,300})")


def _token_rules() -> Iterator[tuple[bytes, tuple[_Rule]]]:
    """Kinds of tokens, how they begin, and their shapes; a long random rest follows, without a break."""
    for line in files("citewise").joinpath("data", "secret-shapes.txt").read_text("utf-8").splitlines():
        kind, beginnings, shape = line.split(" ")
        rule = _Rule(kind, re.compile(f"{_START}({shape})(?![A-Za-z0-9])"), _is_token)
        yield from ((beginning.encode(), (rule,)) for beginning in beginnings.split(","))


# By a string that is in every instance, in lower case; the first way that fits tells the kind.
_RULES: Mapping[bytes, tuple[_Rule, ...]] = MappingProxyType(
    {
        **dict(_token_rules()),
        b"://": (_Rule("url-password", _URL, _is_url_password), _Rule("slack-webhook", _WEBHOOK, _is_token)),
        b"authorization": (_Rule("authorization", _HEADER, _is_header),),
        b"pass": (_assignment("password", "pass(?:w(?:or)?d|phrase)"),),
        b"pwd": (_assignment("password", "pwd"),),
        b"secret": (_Rule("aws-secret-key", _AWS_SECRET, _is_token), _assignment("shared-secret", _SECRET)),
        b"token": (_assignment("token", "token"),),
        b"key": (_assignment("key", _KEY),),
    }
)


def _values(text: str) -> Iterator[_Span]:
    lower = text.encode("ascii", "replace").lower()  # one byte for each character: offsets hold in both
    for anchor, rules in _RULES.items():
        at = lower.find(anchor)
        while at >= 0:
            seen_to = at + len(anchor)
            for rule in rules:
                match = rule.pattern.match(text, at)
                if match and match.lastindex:
                    is_real = rule.is_real or (_is_quoted if match.lastgroup == "quoted" else _is_bare)
                    if is_real(match[match.lastindex][:_MAX_JUDGED]):
                        yield _Span(*match.span(match.lastindex), rule.kind)
                    # Behind a value, real or not: to look again from inside it could take quadratic time.
                    seen_to = max(seen_to, match.end())
                    break
            at = lower.find(anchor, seen_to)


# Private keys: everything between the first and the last line of the armor.

_FIRST_LINE = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_STOP = re.compile(r"\n|-----")
# A key inside a string has the two characters \n where its lines end.
_KEY_LINE = re.compile(r"\W*+([A-Za-z0-9+/=]{16,}+(?:(?:\\[rn])++[A-Za-z0-9+/=]++)*+)(?:\\[rn]|\W)*+")
_KEY_REST = re.compile(r"\W*?([A-Za-z0-9+/=]{2,}+)(?:\\[rn]|\W)*+")  # once it has begun, a line may be short
_BETWEEN = re.compile(r"\s*+(?:[A-Za-z-]{1,40}: .*+|(?:\\[rn]|\W)*+)", re.DOTALL)  # a header, or nothing at all


def _private_keys(text: str) -> Iterator[_Span]:
    at = 0
    while first := _FIRST_LINE.search(text, at):
        at = first.start() + 1
        for number, (start, at) in enumerate(_key_lines(text, first.end())):
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


# Both begin where a run of their characters begins and take all of it at once, so hostile text costs linear time.
_ADDRESS = re.compile(r"(?<![\w.+%'-])[\w.+%'-]++@[\w-]++(?:\.[\w-]++)+")
# Seven digits or more, however they are grouped: telephones, cards, accounts, and dates of birth.
_NUMBER = re.compile(r"(?<!\d)\+?\(?\d(?:[ ().\-/]{0,2}+\d){6,}+")

# What is said behind a telling name ("my password is swordfish"), be it a plain word: of a question, a word too many
# may be hidden. In documents that would hide prose, so there `masked` judges the value. Linear too: once a name and a
# sign are found nothing is given back, and what follows is taken in one go.
_NAMES = (
    r"(?!(?<=<)secret:[a-z-]{1,40}+>)"  # a mask is no name
    r"(?:(?P<phrase>pass[ _-]?phrase)|(?P<password>passw(?:or)?d|pwd)|(?P<token>token)"
    r"|(?P<key>(?:api|access|private|secret)[ _-]?key)|(?P<secret>secret))"
)
_SIGN_REDACTION = r"\s*+[:=\uff1a]{1,3}+>?\*{0,2}+"  # uff1a: the wide colon of Chinese and Japanese
_IS = r"\s++(?:is|was)(?=[\s:=])(?:\s*+[:=]++)?+(?:\s++(?:not|now|still|set\s++to)\b){0,2}+"
_JOIN = rf"""(?>s?\d{{0,2}}(?:["'`\u2019\u201d]\]?|\*{{1,2}}|__)?(?:{_SIGN_REDACTION}|{_IS})\s*+)"""
# An opening quote and what can close it; where nothing does, the rest of the line is taken.
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c\u201d\u201e": "\u201c\u201d", "\u2018\u2019\u201a": "\u2018\u2019"}
_QUOTED = "|".join(rf"[{begin}](?:[^{end}\\\n]|\\.)*+[{end}]?+\S*+" for begin, end in _QUOTES.items())
_CLAUSE = r"(?:[^\n.,;?!]|[.,;?!](?=\S))++"  # a passphrase has several words
_BARE_REDACTION = rf"(?!<secret:[a-z-]{{1,40}}+>(?!\S))(?:(?:bearer|basic)\s++)?+(?(phrase)(?:{_CLAUSE}|\S++)|\S++)"
_SAID = re.compile(rf"(?P<lead>{_NAMES}{_JOIN})(?:{_QUOTED}|{_BARE_REDACTION})", re.IGNORECASE)
_KINDS = {"phrase": "password", "password": "password", "token": "token", "key": "key", "secret": "shared-secret"}


class Redaction(StrEnum):
    """The setting `query_log.text`."""

    FULL = "full"
    MASKED = "masked"
    NONE = "none"

    def __call__(self, text: str) -> str | None:
        """What may be written down of a text: masked, secrets, e-mail addresses and long numbers by their kind.

        Doing it twice is doing it once.
        """
        if self is not Redaction.MASKED:
            return text if self is Redaction.FULL else None

        def masked_value(said: re.Match[str]) -> str:
            kind = next(kind for name, kind in _KINDS.items() if said[name])
            return f"{said['lead']}<secret:{kind}>"

        open_text = _SAID.sub(masked_value, masked(text).text)
        return _NUMBER.sub("<number>", _ADDRESS.sub("<address>", open_text))
