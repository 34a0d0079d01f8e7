"""Colors can be told from what is behind them (WCAG AA)."""

import re
from importlib.resources import files
from itertools import product

import pytest

BASE = files("citewise.cli").joinpath("templates/base.html").read_text(encoding="utf-8")
LIGHT, DARK = (dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", BASE))
THEMES = {"light": LIGHT, "dark": DARK}
TEXT, GRAPHIC = 4.5, 3.0


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, other: str) -> float:
    low, high = sorted((luminance(first), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_as_defined() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(("theme", "name"), [*product(THEMES, ("ink", "muted", "good", "bad", "link"))])
@pytest.mark.parametrize("behind", ["surface", "page"])
def test_text_can_be_read(theme: str, name: str, behind: str) -> None:
    assert contrast(THEMES[theme][name], THEMES[theme][behind]) >= TEXT


@pytest.mark.parametrize("theme", THEMES)
def test_bars_can_be_seen(theme: str) -> None:
    assert contrast(THEMES[theme]["bar"], THEMES[theme]["surface"]) >= GRAPHIC
