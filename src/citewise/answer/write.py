"""Write: a prompt becomes an answer, streamed, with its markers checked on the way and its sentences at the end."""

from collections import abc
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from citewise.answer.markers import MarkerFilter
from citewise.answer.support import support_of
from citewise.model.answer import Citation, Cited, Prompt, Source, Token
from citewise.ports.models import Generator


@dataclass(frozen=True, slots=True)
class Written:
    """The whole text of an answer, and what is known of it: the last event, unless writing failed."""

    text: str
    citations: tuple[Citation, ...]  # those the text really uses, by number
    removed_markers: int  # that pointed at no source
    unsupported_sentences: tuple[str, ...]
    faithfulness: float  # 0..1


@dataclass(frozen=True, slots=True)
class Write:
    """Writes an answer; what it lets through is checked, and closing it stops the generator.

    A source is announced once, right behind the token that holds its first marker.
    """

    generator: Generator

    def __call__(self, prompt: Prompt) -> abc.Generator[Token | Cited | Written, None, None]:
        sources = {source.n: source for source in prompt.context.sources}
        markers = MarkerFilter(sources)
        parts: list[str] = []
        # Closing a delegating generator closes what it delegates to, if that can be closed.
        with closing(_delegated(self.generator.stream(prompt))) as pieces:
            for text, new in _checked(pieces, markers):
                if text:
                    parts.append(text)
                    yield Token(text)
                yield from (Cited(sources[number].citation) for number in new)
        yield self._written("".join(parts), markers, prompt.context.sources)

    def _written(self, text: str, markers: MarkerFilter, sources: tuple[Source, ...]) -> Written:
        used = set(markers.used)
        support = support_of(text, sources)
        return Written(
            text=text,
            citations=tuple(source.citation for source in sorted(sources, key=lambda each: each.n) if source.n in used),
            removed_markers=markers.removed,
            unsupported_sentences=support.unsupported,
            faithfulness=support.faithfulness,
        )


def _checked(pieces: Iterator[str], markers: MarkerFilter) -> Iterator[tuple[str, tuple[int, ...]]]:
    for piece in pieces:
        yield markers.feed(piece)
    yield markers.finish()


def _delegated(pieces: Iterator[str]) -> abc.Generator[str, None, None]:
    yield from pieces
