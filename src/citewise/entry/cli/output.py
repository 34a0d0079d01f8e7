"""What every command prints the same way."""

import json
import sys
import unicodedata

from citewise.model.result import SearchResult


def print_json(value: object) -> None:
    """One line of JSON, alone on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """Text from a document as a terminal may have it: without the characters that would command it."""
    return "".join(one for one in text if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cs"))


def shown_warnings(result: SearchResult) -> None:
    """What should have worked and did not, on standard error."""
    for line in result.degraded:
        sys.stderr.write(f"citewise: degraded: {printable(line)}\n")
