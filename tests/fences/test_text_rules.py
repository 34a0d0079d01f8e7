"""What is known about text is written once, in `citewise.text`; the parser's own adapter has the parser's rules."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "citewise"
ALLOWED = (SOURCE / "text", SOURCE / "adapters" / "markdown")
RULES = {
    "a fence": re.compile(r"```|~~~|[`~]\{+3"),
    "a heading": re.compile(r"#\{1,6\}"),
    "a list item": re.compile(r"\[-\*\+"),
    "the end of a sentence": re.compile(r"\[\.!\?"),
}


def test_fences_headings_and_sentences_are_recognised_in_text_and_nowhere_else() -> None:
    others = [file for file in SOURCE.rglob("*.py") if not any(file.is_relative_to(folder) for folder in ALLOWED)]
    assert len(others) > 50
    known = [
        f"{file.relative_to(SOURCE)}:{number} knows {name}"
        for file in others
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1)
        for name, rule in RULES.items()
        if rule.search(line)
    ]
    assert known == []


def test_the_fence_would_see_a_rule() -> None:
    known = "".join(file.read_text("utf-8") for file in (SOURCE / "text").glob("*.py"))
    assert all(rule.search(known) for rule in RULES.values())
