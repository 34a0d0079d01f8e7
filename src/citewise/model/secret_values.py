"""Is a value a real credential, or written to stand for one? Judges short strings; finds nothing itself."""

import base64
import binascii
import itertools
import re

_STANDS_FOR = re.compile(
    r"(?i)your|change[-_]?(?:me|it|this)|replace|example|placeholder|redacted|dummy|sample|insert|todo|fake"
    r"|foo-?bar|x{4,}|\*{3}|\.{3}|…|\{\{|\$\{|\$\(|%\(|<[a-z]"
)
# A token with a well-known beginning is masked even where it says EXAMPLE: better one too many than one too few.
# Random letters spell short words now and then: 36 of them hold "your" once in 30,000 tokens.
_STANDS_FOR_TOKEN = re.compile(r"(?i)placeholder|redacted|your[-_]|x{5,}|0{8,}|\.{3}")
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
_FEWEST_CHARACTERS = 6  # a shorter quoted value is a word, a flag or a joke
_FEWEST_SCRAMBLED = 10  # characters; of fewer letters, chance alone may spell a name
_SCRAMBLED_SHARE = 0.42  # case changes a character: useIdToken has 0.4, random letters have 0.5
_FEWEST_KINDS = 4  # different characters; "aaaa-aaaa" and "000000" stand for something


def is_real_token(value: str) -> bool:
    """Whether a token with a well-known beginning goes on as if drawn at random."""
    random_like = len(set(value.lower())) > 2 * _FEWEST_KINDS and _WORDS.fullmatch(value) is None
    return random_like and _STANDS_FOR_TOKEN.search(value) is None


def is_real_url_password(value: str) -> bool:
    """Whether the password of a URL is more than the word for one."""
    return not _stands_for_another(value) and value.lower() not in _WORDS_FOR_PASSWORD


def is_real_header(value: str) -> bool:
    """Whether what follows Bearer or Basic is a credential."""
    return is_real_quoted(value) or _is_name_and_password(value)


def is_real_quoted(value: str) -> bool:
    """Whether a quoted value next to a telling name is a credential rather than a word, a name or a place."""
    if len(value) < _FEWEST_CHARACTERS or _stands_for_another(value) or _PLACE.match(value):
        return False
    return value.isdigit() or _is_mixed(value)


def is_real_bare(value: str) -> bool:
    """The same for a value without quotes, which may be code or YAML."""
    is_code = _CODE.fullmatch(value) is not None or _YAML_MARK.match(value) is not None
    return not is_code and not value.isdigit() and is_real_quoted(value)


def has_few_kinds(value: str) -> bool:
    """Whether a value repeats so few characters that it only fills a place."""
    return len(set(value.lower())) < _FEWEST_KINDS


def _stands_for_another(value: str) -> bool:
    """Whether a value is a placeholder, a variable, or a mask."""
    return has_few_kinds(value) or _STANDS_FOR.search(value) is not None or _VARIABLE.fullmatch(value) is not None


def _is_mixed(value: str) -> bool:
    """Letters among digits, marks or each other, terms such as sha256 set aside, and more than joined words."""
    rest = set(_KNOWN_TERM.sub("", value))
    digits_or_marks = any(map(str.isdigit, rest)) or not rest.isdisjoint(_MARKS) or _is_scrambled(value)
    return digits_or_marks and any(map(str.isalpha, rest)) and _WORDS.fullmatch(value) is None


def _is_scrambled(value: str) -> bool:
    """Whether upper and lower case alternate more often than in any name: random letters do every other time."""
    changes = sum(before.isupper() != after.isupper() for before, after in itertools.pairwise(value))
    return len(value) >= _FEWEST_SCRAMBLED and changes >= _SCRAMBLED_SHARE * len(value)


def _is_name_and_password(value: str) -> bool:
    try:
        name, colon, password = base64.b64decode(value, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return bool(name and colon and password)
