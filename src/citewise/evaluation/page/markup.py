"""Markup that is safe by construction: whatever is not Markup already is escaped on its way in."""

import html

from citewise.cli.output import printable

_VOID = frozenset({"meta", "input", "wbr"})  # elements of HTML that have no end
_NOT_IN_XML = str.maketrans("", "", "\ufffe\uffff")  # an SVG file that holds one cannot be opened

Value = str | float | bool | None


class Markup(str):
    """Text that may stand in a page as it is."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Any text as a page may have it: nothing in it is markup, and nothing commands the reader's screen."""
    if isinstance(text, Markup):
        return text
    is_plain = text.isprintable()  # quick, and true of nearly all text
    return Markup(html.escape(text if is_plain else printable(text).translate(_NOT_IN_XML)))


def tag(name: str, /, *inside: str, **attributes: Value) -> Markup:
    """One element. Attributes: `class_` and `aria_label` lose their underscores, None and False are left out."""
    said = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{joined(*inside)}</{name}>")


def joined(*parts: str) -> Markup:
    """Several pieces as one."""
    return Markup("".join(escaped(part) for part in parts))


def _attribute(key: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escaped(value) if isinstance(value, str) else rounded(value)}"'


def rounded(value: float) -> str:
    """A position to a hundredth of a pixel: enough for any screen, and the same on every machine."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
