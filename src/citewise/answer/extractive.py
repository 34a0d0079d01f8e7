"""Answers without a language model: excerpts, each under its headings and with its source's marker."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from citewise.answer.markers import BRACKETS, MarkerFilter
from citewise.model.answer import Citation, Prompt
from citewise.model.cancellation import Cancellation
from citewise.text.cutting import ELLIPSIS
from citewise.text.markdown import Line, Markdown
from citewise.text.sanitizing import sanitized_label

SEPARATOR = " \u203a "  # between headings
_TAG_LIKE = re.compile(r"<(?=[/A-Za-z])")  # which a browser would swallow


@dataclass(frozen=True, slots=True)
class ExtractiveGenerator:
    """Quotes; it says nothing that does not stand in a source."""

    name: ClassVar[str] = "extractive"
    only_quotes: ClassVar[bool] = True

    def stream(self, prompt: Prompt, cancellation: Cancellation | None = None) -> Iterator[str]:
        for source in prompt.context.sources:
            if cancellation:
                cancellation.raise_if_cancelled()
            if prompt.mode == "selected_text_only":  # a reader knows where it stands
                yield f"{_unmarked(source.text)}\n\n[{source.n}]"
                continue
            above = "" if source is prompt.context.sources[0] else "\n\n"
            # A paragraph goes on in the line below the headings; anything else would be swallowed by it.
            first = Line(source.text.partition("\n")[0])
            is_block = first.fence or first.list_mark or first.quote_mark or first.is_markup
            is_prose = not (is_block or first.startswith(("|", ELLIPSIS)))
            headings = f"{above}**{_headings(source.citation)}** [{source.n}]"
            yield headings + ("  \n" if is_prose else "\n\n") + _unmarked(source.text)


def _unmarked(text: str) -> str:
    """Without what would be taken for a marker of ours, which no document may write."""
    prose = "".join(run for run, is_code in Markdown(text).runs() if not is_code)
    if not any(bracket in prose for bracket in BRACKETS):
        return text
    return "".join(piece for piece, _ in MarkerFilter(()).filtered([text]))


def _headings(citation: Citation) -> str:
    labels = (_plain(sanitized_label(heading)) for heading in citation.breadcrumb or (citation.title,))
    return SEPARATOR.join(filter(None, labels))


def _plain(label: str) -> str:
    """A label that opens nothing which the text below would close."""
    plain = _TAG_LIKE.sub(r"\\<", label.replace("*", ""))
    return plain.replace("`", "'") if plain.count("`") % 2 else plain
