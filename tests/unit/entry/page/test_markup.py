"""Nothing that a document says becomes markup."""

import pytest

from citewise.evaluation.page.markup import Markup, escaped, joined, rounded, tag


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("\"' onload=x", "&quot;&#x27; onload=x"),
        ("a\x1b[31m\x00\x07b\x9bc", "a[31mbc"),
        ("abc\u202edef\u2066", "abcdef"),
        ("\ud800\ufffe\uffffok", "ok"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
    ],
)
def test_text_is_escaped_and_loses_what_would_command_a_screen(said: str, shown: str) -> None:
    assert escaped(said) == shown
    assert tag("p", said, title=said) == f'<p title="{shown}">{shown}</p>'


def test_markup_is_not_escaped_twice() -> None:
    inner = tag("b", "1 < 2")
    assert tag("p", "so ", inner) == "<p>so <b>1 &lt; 2</b></p>"
    assert isinstance(joined(inner, "&"), Markup)


def test_attributes_are_named_as_html_names_them_and_absent_ones_left_out() -> None:
    assert tag("input", class_="a", aria_label="b", hidden=True, id=None, open=False) == (
        '<input class="a" aria-label="b" hidden>'
    )


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (1.256, "1.26"), (-0.001, "0"), (-1.5, "-1.5"), (100.0, "100")]
)
def test_positions_are_short(value: float, text: str) -> None:
    assert rounded(value) == text
