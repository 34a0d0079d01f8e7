"""Selections of every kind, with the real model: each is answered from itself or cleanly refused."""

import json

import pytest

from citewise import Answer, Library
from citewise.answer.pipeline import NOT_IN_SELECTION
from citewise.model.answer import NOT_SURE

FILLER = "Gulls rest on the pier and on the roofs of the sheds when the wind is from the west."
ANSWER = "The tide gauge is read at noon by the harbor master."
WHEN = "When is the tide gauge read?"
HALF_A_FENCE = (
    "Reading the tide gauge in Python:\n\n```python\ndef read_gauge(port):\n    return port.read_tide_gauge()\n"
)
JAPANESE = "潮位計は毎日正午に港長によって読まれます。" * 248  # 5,208 characters without a blank
PORTS = {"tide_gauge": {"port": 4711}, "camera": {"port": 12}}
TABLE = "| Day | The ferry leaves |\n|---|---|\n| Saturday | 08:00 |\n| Sunday | 09:30 |\n"


def a_long_selection(characters: int) -> str:
    """One paragraph of many, far inside, has the answer."""
    paragraphs = [f"Paragraph {at}. {FILLER}" for at in range(characters // len(FILLER))]
    paragraphs[len(paragraphs) * 2 // 3] = ANSWER
    return "\n\n".join(paragraphs)[:characters]


def minified(values: object) -> str:
    return json.dumps(values, separators=(",", ":"))


@pytest.fixture(scope="module")
def library() -> Library:
    return Library("there/is/no/library")


def is_whole(answer: Answer) -> bool:
    """An answer or a refusal, and either way the one citation that a selection has."""
    (citation,) = answer.citations
    assert (citation.chunk_id, citation.n, citation.document) == ("selection", 1, None)
    assert answer.result.mode == "selected_text_only"
    if answer.outcome != "nothing":
        is_honest = answer.sufficient_context is not answer.text.startswith(NOT_SURE)
        return is_honest and answer.text.endswith("[1]")
    return (answer.text, answer.suggestions) == (NOT_IN_SELECTION, ())


@pytest.mark.parametrize(
    ("question", "selection", "said"),
    [
        (WHEN, a_long_selection(100_000), "noon"),
        (WHEN, f"# Gulls\n\n{FILLER}\n\n## Gauge\n\n{ANSWER}\n\n### Sheds\n\nTwo sheds stand there.\n", "noon"),
        ("When does the ferry leave on Sunday?", TABLE, "| Sunday | 09:30 |"),
        ("How is the tide gauge read in Python?", HALF_A_FENCE, "port.read_tide_gauge()"),
        ("潮位計はいつ読まれますか", JAPANESE, "正午"),
        ("What is the port of the tide gauge?", minified(PORTS), "4711"),
    ],
    ids=["100,000 characters", "several headings", "a table", "an open fence", "Japanese", "minified JSON"],
)
def test_a_selection_that_holds_the_answer_is_quoted(
    library: Library, question: str, selection: str, said: str
) -> None:
    answer = library.as_owner().ask(question, selection=selection)
    assert is_whole(answer)
    assert answer.sufficient_context
    assert said in answer.text


@pytest.mark.parametrize(
    "selection",
    [
        "noon",
        ".",
        "12",
        JAPANESE,
        "```",
        "|---|---|",
        "# Gauge",
        "x" * 200_000,
        minified({f"key{at}": {"name": f"n{at}", "port": at} for at in range(4_000)}),
    ],
    ids=["a word", "a mark", "a number", "another language", "a fence's line", "a rule", "a heading", "x", "much JSON"],
)
def test_a_selection_that_says_little_is_answered_or_refused_cleanly(library: Library, selection: str) -> None:
    assert is_whole(library.as_owner().ask(WHEN, selection=selection))


def test_the_mark_of_an_open_fence_s_answer_stands_behind_the_code(library: Library) -> None:
    answer = library.as_owner().ask("How is the tide gauge read in Python?", selection=HALF_A_FENCE)
    assert answer.text.count("```") % 2 == 0
    assert answer.text.endswith("[1]")


def test_what_is_left_out_of_a_long_selection_is_not_in_the_prompt(library: Library) -> None:
    answer = library.as_owner().ask(WHEN, selection=a_long_selection(100_000))
    assert answer.usage.context_tokens_after <= 2_000
