"""What every compressor promises."""

import re
from pathlib import Path

import pytest

from citewise.adapters.onnx.llmlingua import LlmLingua2
from citewise.answer.compress import Extractive
from citewise.model.answer import Context, Shortened
from citewise.ports.models import Compressor
from citewise.text.units import units_of
from tests.contexts import PACK, a_wide_context, evidence_of
from tests.fakes.counters import WordCounter
from tests.fakes.tiny_models import write_tiny_token_classifier

GULLS = " ".join(f"Gull {at} rests on the pier when the wind is from the west." for at in range(12))
CODE = "```python\ndef read_gauge(port):\n    return port.read()\n```"
TABLE = "| Day | The ferry leaves |\n|---|---|\n| Sunday | 09:30 |"
PAGES = (
    (f"## Gauge\n\nThe tide gauge is read at noon. {GULLS}\n\n{CODE}\n\n### Sheds\n\n- Two sheds stand there.", 0.9),
    (f"## Ferry\n\nThe ferry waits for the gauge to be read.\n\n{TABLE}\n\n{GULLS}", 0.6),
    (f"{GULLS}\n\nThe gauge was painted blue.", 0.3),
)
FITS = {"read at noon": 0.9, "waits for the gauge": 0.6, "painted blue": 0.5, "read_gauge": 0.4, "Sunday": 0.3}
ROOMS = (60, 120, 200, 300, 450, 900)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_token_classifier(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(params=["extractive", "llmlingua"])
def compressor(request: pytest.FixtureRequest, folder: Path) -> Compressor:
    return Extractive(WordCounter()) if request.param == "extractive" else LlmLingua2(folder, WordCounter())


@pytest.fixture(scope="module")
def context() -> Context:
    return a_wide_context(*PAGES)


def shorten(
    compressor: Compressor, context: Context, wanted: int, max_tokens: int | None = None
) -> tuple[Shortened, ...]:
    evidence = evidence_of(context, FITS)
    return compressor.shortened(
        "When is the gauge read?", context.sources, evidence, wanted_tokens=wanted, max_tokens=max_tokens or wanted
    )


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize("wanted", ROOMS)
def test_what_is_left_is_in_order_and_nothing_is_new(compressor: Compressor, context: Context, wanted: int) -> None:
    for part in shorten(compressor, context, wanted):
        rest = iter(words(context.sources[part.n - 1].text))
        assert all(any(word == other for other in rest) for word in words(part.text))


@pytest.mark.parametrize("wanted", ROOMS)
def test_the_room_is_kept(compressor: Compressor, context: Context, wanted: int) -> None:
    shorter = PACK.shortened(context, {part.n: part.text for part in shorten(compressor, context, wanted)})
    assert 0 < shorter.tokens <= wanted


@pytest.mark.parametrize("wanted", ROOMS)
def test_every_source_that_is_left_has_its_best_unit_untouched(
    compressor: Compressor, context: Context, wanted: int
) -> None:
    bests = {1: "The tide gauge is read at noon.", 2: "The ferry waits for the gauge to be read.", 3: "painted blue."}
    found = shorten(compressor, context, wanted)
    assert found[0].n == 1
    assert all(bests[part.n] in part.text for part in found)


@pytest.mark.parametrize("wanted", ROOMS)
def test_code_and_tables_are_whole_or_not_there(compressor: Compressor, context: Context, wanted: int) -> None:
    for part in shorten(compressor, context, wanted):
        source = context.sources[part.n - 1]
        for unit in units_of(source.n, source.text):
            if not unit.is_prose:
                assert (unit.text in part.text) == (unit.position in part.kept)
                assert unit.text in part.text or not set(words(unit.text)) - {"def", "The"} <= set(words(part.text))


@pytest.mark.parametrize("wanted", ROOMS)
def test_headings_stay_but_for_one_that_the_label_repeats(
    compressor: Compressor, context: Context, wanted: int
) -> None:
    by_number = {part.n: part.text for part in shorten(compressor, context, wanted)}
    assert "### Sheds" in by_number[1]
    assert by_number[1].startswith("## Gauge")


def test_a_heading_that_the_label_says_is_not_said_twice(compressor: Compressor) -> None:
    context = a_wide_context(("## Reading\n\nThe gauge is read at noon.", 0.5))
    (part,) = compressor.shortened("?", context.sources, evidence_of(context), wanted_tokens=99, max_tokens=99)
    assert part.text == "The gauge is read at noon."


def test_where_units_were_left_out_there_is_a_mark(compressor: Compressor, context: Context) -> None:
    first = shorten(compressor, context, 120)[0]
    assert "\u2026" in first.text
    assert "\u2026\n\n\u2026" not in first.text


def test_with_room_for_everything_no_source_is_lost(compressor: Compressor, context: Context) -> None:
    assert [part.n for part in shorten(compressor, context, 900)] == [1, 2, 3]


def test_the_best_source_may_take_more_than_is_wanted_and_never_more_than_there_is(compressor: Compressor) -> None:
    context = a_wide_context((f"{CODE}\n\nGulls rest.", 0.9), ("Gulls fly.", 0.2))
    evidence = evidence_of(context, {"read_gauge": 0.9})
    part, other = compressor.shortened("?", context.sources, evidence, wanted_tokens=16, max_tokens=60)
    assert CODE in part.text
    assert other.text == "Gulls fly."  # not at its expense
    (part,) = compressor.shortened("?", context.sources, evidence, wanted_tokens=16, max_tokens=16)
    assert part.text == "\u2026\n\nGulls rest."


def test_nothing_that_fits_is_no_source_at_all(compressor: Compressor, context: Context) -> None:
    assert shorten(compressor, context, 5) == ()
    assert compressor.shortened("?", (), (), wanted_tokens=99, max_tokens=99) == ()


def test_a_source_of_a_heading_alone_stays(compressor: Compressor) -> None:
    context = a_wide_context(("# Gauge", 0.9))
    (part,) = compressor.shortened("?", context.sources, (), wanted_tokens=99, max_tokens=99)
    assert part == Shortened(1, "# Gauge", ())


def test_strange_text_is_compressed_too(compressor: Compressor) -> None:
    context = a_wide_context((f"Half a \ud83d pair. \u6f6e\u4f4d\u8a08\u306f. {GULLS}", 0.9), ("> a\n> b", 0.2))
    evidence = evidence_of(context, {"Half": 0.9})
    part, *_ = compressor.shortened("?", context.sources, evidence, wanted_tokens=60, max_tokens=60)
    assert part.text.startswith("Half a \ud83d pair.")


def test_the_same_is_left_every_time(compressor: Compressor, context: Context) -> None:
    assert shorten(compressor, context, 200) == shorten(compressor, context, 200)


def test_a_compressor_has_a_name(compressor: Compressor) -> None:
    assert compressor.name in ("extractive", "tiny")
