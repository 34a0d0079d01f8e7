"""Units of ingested text come from its stored blocks, and are those that parsing it again would give."""

from pathlib import Path

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.ingest.chunkers.markdown import HeadingChunker
from citewise.model.document import BlockKind, BlockSpan
from citewise.text.units import units_of
from tests.fakes.counters import WordCounter

HANDBOOK = Path(__file__).parents[3] / "src" / "citewise" / "data" / "handbook"
PAGE = """# Tides

The gauge is read. Twice a day.

1. Walk to the pier:

   ```sh
   > walk
   ```
2. Read it.

> Quoted. Twice.
> - an item

:::note Mind the gap

Mind it.

:::

| a | b |
|---|---|
| 1 | 2 |

$$
x = 1. Y = 2.
$$
"""


def test_every_page_of_the_handbook_has_the_same_units_either_way() -> None:
    chunker = HeadingChunker(WordCounter(), 200)
    texts = [PAGE, *(file.read_text("utf-8") for file in sorted(HANDBOOK.rglob("*.md*")))]
    pieces = [piece for text in texts for piece in chunker(MarkdownParser().parse_text(text).blocks, title="Page")]
    assert len(pieces) > 50
    for piece in pieces:
        assert units_of(1, piece.text, piece.blocks) == units_of(1, piece.text)


def test_stored_blocks_are_believed_where_parsing_would_say_otherwise() -> None:
    text = "a = [\n# not a heading\n]"
    (unit,) = units_of(1, text, (BlockSpan(BlockKind.CODE, 0, len(text)),))
    assert (unit.kind, unit.text) == ("code", text)


def test_a_comparison_in_a_quotation_keeps_its_sign() -> None:
    text = "> Alarm:\nlevel > 3 is high."  # the second line goes on without a mark
    units = units_of(1, text, (BlockSpan(BlockKind.QUOTE, 2, len(text)),))
    assert units[-1].text == "level > 3 is high."
