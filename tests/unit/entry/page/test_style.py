"""Colors can be told from what is behind them (WCAG AA)."""

import re
from importlib.resources import files
from itertools import product

import pytest

from citewise.evaluation.page.drawing import DARK, LIGHT, SERIES

CSS = files("citewise.evaluation.page").joinpath("report.css").read_text(encoding="utf-8")
PAGES = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", CSS)]
THEMES = {"light": {**LIGHT, **PAGES[0]}, "dark": {**DARK, **PAGES[1]}}
TEXT, GRAPHIC = 4.5, 3.0


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_as_defined() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(("theme", "name"), [*product(THEMES, ("ink", "muted", "good", "bad", "link"))])
@pytest.mark.parametrize("behind", ["surface", "page"])
def test_text_can_be_read(theme: str, name: str, behind: str) -> None:
    assert contrast(THEMES[theme][name], THEMES[theme][behind]) >= TEXT


@pytest.mark.parametrize(("theme", "name"), [*product(THEMES, ["axis", *(f"s{n}" for n in range(SERIES))])])
def test_bars_and_lines_can_be_seen(theme: str, name: str) -> None:
    assert contrast(THEMES[theme][name], THEMES[theme]["surface"]) >= GRAPHIC
