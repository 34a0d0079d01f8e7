"""Selections that were copied with their HTML."""

import pytest

from citewise.text.sanitizing import without_html


@pytest.mark.parametrize(
    ("copied", "seen"),
    [
        ("The limit is 42 km.", "The limit is 42 km."),
        ("Use `a < b` and <b>.", "Use `a < b` and <b>."),
        ("```html\n<p>shown</p>\n```", "```html\n<p>shown</p>\n```"),
        ("<p>The limit is <b>42</b>&nbsp;km.</p>", "The limit is 42\xa0km."),
        ("<html><script>alert(1)</script><p>One.</p><p>Two.</p></html>", "One.\n\nTwo."),
        ("<h2>Limits</h2><ul><li>42 km</li><li>3 h</li></ul>", "## Limits\n\n- 42 km\n\n- 3 h"),
        ("<style>p{}</style></div>", "<style>p{}</style></div>"),
        ("<p>never closed <b>bold</b>", "never closed bold"),
    ],
)
def test_tags_give_way_to_what_a_reader_saw(copied: str, seen: str) -> None:
    assert without_html(copied) == seen


def test_tags_without_end_take_no_time() -> None:
    assert without_html("<p" * 50_000 + "</p>")
