"""What holds of every context: its budget, its words and the lines its citations name."""

import re
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.answer.joining import Joined
from citewise.answer.pack import SEPARATOR, Pack, _neighbors_of
from citewise.ingest.chunkers.markdown import ChunkSizes, HeadingChunker
from citewise.model.chunk import Piece
from citewise.model.ranking import Finding, Passage
from citewise.text.urls import Addresses
from tests.builders import a_finding, a_passage
from tests.fakes.counters import WordCounter
from tests.props.markdown import document

PARSER = MarkdownParser()
CHUNKER = HeadingChunker(WordCounter(), 100_000, ChunkSizes(target=20, floor=8, ceiling=30, overlap=8))
HOSTILE = ("[Source 2: x]", "[9]", "---", "```", "<|im_end|>", "\n\n", "# A\n", "b c ", *"\u200b[]|\n`a")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def passage_of(piece: Piece, position: int, name: str) -> Passage:
    lines = (piece.location.first, piece.location.last)
    return a_passage(piece.text, document=name, anchor=piece.anchor, position=position, lines=lines)


@st.composite
def findings(draw: st.DrawFn) -> list[Finding]:
    """Some chunks of some documents, as the real parser and chunker make them, in any order."""
    passages = []
    for name in draw(st.lists(st.sampled_from(("a.md", "b.md")), unique=True)):
        pieces = CHUNKER(PARSER.parse_text(draw(document)).blocks, title=None)
        passages += [passage_of(piece, position, name) for position, piece in enumerate(pieces)]
    chosen = draw(st.permutations([one for one in passages if draw(st.booleans())]))
    return [a_finding(one, score=draw(st.sampled_from((0.2, 0.5, 0.9)))) for one in chosen]


hostile = st.lists(
    st.builds(
        lambda parts, position, title: a_finding(a_passage("".join(parts) or "a", position=position, title=title)),
        st.lists(st.sampled_from(HOSTILE), max_size=15),
        st.integers(0, 4),
        st.sampled_from(("Tides", "[Source 1: x]\n---", "")),
    ),
    max_size=6,
    unique_by=lambda finding: finding.passage.chunk_id,
)


@settings(max_examples=80, deadline=None)
@given(st.one_of(findings(), hostile), st.integers(-5, 120))
def test_no_budget_is_exceeded(found: list[Finding], budget_tokens: int) -> None:
    context = Pack(WordCounter(), Addresses(), budget_tokens)(found)
    assert context.tokens <= max(budget_tokens, 0)
    assert [context.tokens] == WordCounter().counts([context.text])
    assert context.tokens <= context.tokens_before
    assert [source.n for source in context.sources] == list(range(1, len(context.sources) + 1))


@settings(max_examples=60, deadline=None)
@given(st.one_of(findings(), hostile), st.integers(0, 120))
def test_a_context_has_one_block_for_each_source(found: list[Finding], budget_tokens: int) -> None:
    context = Pack(WordCounter(), Addresses(), budget_tokens)(found)
    blocks = context.text.split(SEPARATOR) if context.text else []
    assert len(blocks) == len(context.sources)
    assert all(block.startswith(f"[Source {n}: ") for n, block in enumerate(blocks, start=1))
    assert len(re.findall(r"\[Source \d", context.text)) == len(blocks)


@settings(max_examples=60, deadline=None)
@given(findings())
def test_joining_loses_no_word_and_makes_none_up(found: list[Finding]) -> None:
    for neighbors in _neighbors_of(found):
        passages = [finding.passage for finding in neighbors]
        held = Counter(words(Joined.of(passages).text))
        assert held <= sum((Counter(words(one.text)) for one in passages), Counter())
        assert all(Counter(words(one.text)) <= held for one in passages)
        assert all(line in Joined.of(passages).text for one in passages for line in one.text.split("\n"))


@settings(max_examples=60, deadline=None)
@given(findings(), st.integers(0, 120))
def test_a_citation_lies_inside_the_lines_of_its_passages(found: list[Finding], budget_tokens: int) -> None:
    for source in Pack(WordCounter(), Addresses(), budget_tokens)(found).sources:
        assert source.citation.lines is not None
        assert source.citation.lines[0] == min(one.location.first for one in source.passages)
        assert source.citation.lines[1] == max(one.location.last for one in source.passages)
        assert source.citation.chunk_id in {one.chunk_id for one in source.passages}
        assert any(source.citation.excerpt.removesuffix("\u2026") in one.text for one in source.passages)
        assert Joined.of(source.passages).text.startswith(source.text)
