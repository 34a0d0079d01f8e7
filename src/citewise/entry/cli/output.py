"""What every command prints the same way."""

import json
import sys

from citewise.model.result import SearchResult


def print_json(value: object) -> None:
    """One line of JSON, alone on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def shown_warnings(result: SearchResult) -> None:
    """What should have worked and did not, on standard error."""
    for line in result.degraded:
        sys.stderr.write(f"citewise: degraded: {line}\n")
