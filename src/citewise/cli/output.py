"""What every command prints the same way."""

import json
import sys
import unicodedata

from citewise.model.ranking import SearchResult

_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def print_json(value: object) -> None:
    """One line of JSON, alone on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """Text from a document as a terminal may have it: without the characters that would command it."""
    return "".join(one for one in text if one in "\n\t" or not _commands(one))


def _commands(character: str) -> bool:
    """Control characters, half surrogate pairs, and those that turn the direction of writing around."""
    return unicodedata.category(character) in ("Cc", "Cs") or character in _TURNS


def shown_warnings(result: SearchResult) -> None:
    """What should have worked and did not, on standard error."""
    for line in result.degraded:
        sys.stderr.write(f"citewise: degraded: {printable(line)}\n")
