"""Text that was copied with its HTML: what a reader saw of it."""

import re
from html.parser import HTMLParser

from citewise.text.markdown import has_fence

_CLOSING_TAG = re.compile(
    r"</(?:p|div|span|b|i|u|em|strong|small|a|li|ul|ol|dl|dt|dd|td|th|tr|table|tbody|h[1-6]|section|article|body|html|script"
    r"|style|blockquote)\s*>",
    re.IGNORECASE,
)
_BLOCKS = frozenset(
    {"p", "div", "li", "ul", "ol", "dt", "dd", "tr", "table", "section", "article", "blockquote", "br", "hr"}
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_UNSEEN = frozenset({"script", "style", "head", "template", "noscript"})
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def without_html(text: str) -> str:
    """The text without tags, if it has any that are closed; code fences show tags on purpose, so they stay."""
    if has_fence(text) or not _CLOSING_TAG.search(text):
        return text
    reader = _VisibleText()
    reader.feed(text)
    reader.close()
    return _BLANK_LINES.sub("\n\n", "".join(reader.seen)).strip() or text


class _VisibleText(HTMLParser):
    """Collects what is shown; blocks become paragraphs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._unseen += tag in _UNSEEN
        if tag in _HEADINGS:
            self.seen.append(f"\n\n{_HEADINGS[tag]} ")
        elif tag in _BLOCKS:
            self.seen.append("\n\n- " if tag == "li" else "\n\n")
        elif tag in ("td", "th"):
            self.seen.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        if tag in _BLOCKS or tag in _HEADINGS:
            self.seen.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.seen.append(data)
