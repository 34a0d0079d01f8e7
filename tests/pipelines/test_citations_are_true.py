"""Whoever opens a cited file at the cited lines finds the excerpt there; a joined section reads as in the file."""

import json
from itertools import groupby
from pathlib import Path

import pytest

from citewise import Cited, Done, Library
from citewise.adapters.markdown.parser import MarkdownParser
from citewise.adapters.onnx import MINILM
from citewise.adapters.onnx.wordpiece import WordPieceCounter
from citewise.answer.joining import Joined
from citewise.answer.pack import _citation
from citewise.ingest.chunkers.markdown import HeadingChunker, _sections
from citewise.ingest.chunkers.markdown import _joined as with_empty_ones_joined
from citewise.ingest.policy import Ruling
from citewise.ingest.prepare import Prepare
from citewise.ingest.targets import Target
from citewise.model.access import Access
from citewise.model.document import DEFAULT_RULES, Item, SourceRef
from citewise.model.ranking import Passage
from citewise.ports.sources import Format
from citewise.text.cutting import ELLIPSIS
from citewise.text.urls import Addresses
from tests.builders import SCOPE, passage_of
from tests.props.corpora import ROOT, TREES, files_of

QUESTIONS = ROOT / "tests" / "data" / "handbook_questions" / "answerable.json"
PARSER = MarkdownParser()
COUNTER = WordPieceCounter()
CHUNKER = HeadingChunker(COUNTER, MINILM.window_tokens)
PREPARE = Prepare((Format("text/markdown", (".md",), PARSER, CHUNKER),), DEFAULT_RULES)
Page = tuple[str, tuple[Passage, ...]]  # a file's text, and its passages
TARGET = Target(SCOPE, SourceRef("", "docs"))


@pytest.fixture(params=["handbook", "textbook", "docusaurus"], scope="module")
def pages(request: pytest.FixtureRequest) -> list[Page]:
    """Each file's text, as far as a library may show it, and its passages."""
    return [prepared(file, TREES[request.param]) for file in files_of(request.param)]


def prepared(file: Path, tree: Path) -> Page:
    data = file.read_bytes()
    item = Item(file.relative_to(tree).as_posix(), len(data), "text/markdown")
    (write,) = PREPARE(TARGET, item, data, lambda *_: Ruling(Access())).writes
    return write.document.text, tuple(passage_of(chunk, write.document) for chunk in write.chunks)


def collapsed(text: str) -> str:
    return " ".join(text.split())


def test_every_excerpt_stands_in_the_cited_lines(pages: list[Page]) -> None:
    for text, passages in pages:
        lines = text.split("\n")
        for passage in passages:
            citation = _citation(1, (passage,), Addresses(), best=passage, score=1.0)
            assert citation.lines is not None
            cited = collapsed("\n".join(lines[citation.lines[0] - 1 : citation.lines[1]]))
            excerpt = collapsed(citation.excerpt.removesuffix(ELLIPSIS))
            assert excerpt, (passage.document, citation.lines)
            assert excerpt in cited, (passage.document, citation.lines)


def test_every_section_below_the_title_is_linked_by_its_anchor(pages: list[Page]) -> None:
    for text, passages in pages:
        headings = [block.heading for block in PARSER.parse_text(text).blocks if block.heading]
        titles = {heading.anchor for heading in headings if heading.level == 1}
        for passage in passages:
            fragment = "" if passage.anchor in {"", *titles} else f"#{passage.anchor}"
            url = Addresses({"": "/docs/"}).url(passage)
            assert url is None or url.removeprefix(url.partition("#")[0]) == fragment, passage.document
            assert (url is None) == ("/_" in f"/{passage.document}")


def test_the_chunks_of_a_section_join_to_what_the_file_says(pages: list[Page]) -> None:
    for text, passages in pages:
        blocks = PARSER.parse_text(text).blocks
        tokens = {
            block.text: count
            for block, count in zip(blocks, COUNTER.counts([each.text for each in blocks]), strict=True)
        }
        sections = with_empty_ones_joined(_sections(blocks, title=None), tokens, CHUNKER.sizes.ceiling)
        written = groupby(sections, key=lambda section: section.anchor)
        found = groupby(passages, key=lambda passage: passage.anchor)
        for (_, same), (_, chunks) in zip(written, found, strict=True):
            source = " ".join(block.text for section in same for block in section.blocks)
            assert collapsed(Joined.of(tuple(chunks)).text) == collapsed(source)


def test_every_citation_of_every_answer_stands_where_it_says(tmp_path: Path) -> None:
    questions = [case["question"] for case in json.loads(QUESTIONS.read_text("utf-8"))]
    with Library(tmp_path / "library") as library:
        library.ingest(TREES["handbook"])
        citations = [cited for question in questions for cited in library.as_owner().ask(question).citations]
    assert len(citations) >= len(questions)
    for citation in citations:
        assert citation.document is not None
        assert citation.lines is not None
        first, last = citation.lines
        cited = (TREES["handbook"] / citation.document).read_text("utf-8").splitlines()[first - 1 : last]
        excerpt = collapsed(citation.excerpt.removesuffix(ELLIPSIS))
        assert excerpt in collapsed("\n".join(cited)), (citation.document, citation.lines)


def test_a_source_is_announced_as_the_answer_will_cite_it(tmp_path: Path) -> None:
    with Library(tmp_path / "library") as library:
        library.ingest(TREES["handbook"])
        events = list(library.as_owner().stream("What does TIDE-204 mean?"))
    announced = {event.citation for event in events if isinstance(event, Cited)}
    (done,) = [event for event in events if isinstance(event, Done)]
    assert announced == set(done.answer.citations)
