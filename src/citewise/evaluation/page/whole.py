"""A page in one file: what stands around its parts, its style, and a policy that lets in nothing from anywhere."""

import base64
import hashlib
from importlib.resources import files

from citewise.evaluation.page.drawing import DARK, LIGHT, STYLE, variables
from citewise.evaluation.page.markup import Markup, tag

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page_html(title: str, main: Markup, *, script: Markup | None = None) -> str:
    """The file, with its own style and this script; no other would run."""
    body = tag("body", main) if script is None else tag("body", main, tag("script", script))
    page = tag("html", _head(title, POLICY if script is None else f"{POLICY}; {_only(script)}"), body, lang="en")
    return f"<!doctype html>\n{page}\n"


def resource(name: str) -> Markup:
    """A file that ships beside this one."""
    return Markup(files("citewise.evaluation.page").joinpath(name).read_text(encoding="utf-8").strip())


def _head(title: str, policy: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", _style()),
    )


def _only(script: Markup) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"script-src 'sha256-{digest}'"


def _style() -> Markup:
    light = f":root{{{variables(LIGHT)}}}"
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"  # paper is white
    return Markup(f"{light}{dark}{STYLE}\n{resource('report.css')}")
