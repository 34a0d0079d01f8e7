"""Neighbors are joined, the best comes first, and the budget holds."""

import re
from collections.abc import Sequence

import pytest

from citewise.answer.excerpts import Excerpts
from citewise.answer.pack import LABEL_TOKENS as ROOM_FOR_LABEL
from citewise.answer.pack import LEFT_OUT, Pack, _block
from citewise.model.access import OWNER
from citewise.model.answer import Context, Evidence, Grounds
from citewise.model.document import BlockKind
from citewise.model.query import Query, Selection
from citewise.model.ranking import Finding, Passage
from citewise.text.markdown import Markdown
from citewise.text.units import cut_to_fit
from citewise.text.urls import Addresses
from tests.builders import a_finding, a_passage
from tests.contexts import PACK
from tests.fakes.counters import WordCounter
from tests.growth import assert_linear
from tests.sections import parts_of_a_block, sections_in

CODE, PARAGRAPH = BlockKind.CODE, BlockKind.PARAGRAPH
LABEL_TOKENS = 8  # [ Source 1 : Tides - Reading ]


def packed(findings: Sequence[Finding], budget_tokens: int = 2_000) -> Context:
    return Pack(WordCounter(), Addresses(), budget_tokens)(findings)


def of_words(count: int, *, document: str = "tides.md", score: float = 0.5) -> Finding:
    return a_finding(a_passage(" ".join(["tide"] * count), document=document), score=score)


def test_a_context_is_labeled_blocks_with_a_rule_between_them() -> None:
    lower = a_finding(a_passage("The staff.", document="a.md", title="Staff", section="N/A"), score=0.4)
    upper = a_finding(a_passage("See [9].", document="b.md", page=7), score=0.6)
    context = packed([lower, upper])
    assert context.text == "[Source 1: Tides - Reading (p. 7)]\nSee (9).\n\n---\n\n[Source 2: Staff]\nThe staff."
    assert [source.n for source in context.sources] == [1, 2]
    assert [source.citation.n for source in context.sources] == [1, 2]
    assert context.sources[0].text == "See [9]."  # as it stands; only the prompt is neutral
    assert context.sources[0].score == context.sources[0].citation.score == 0.6


def test_nothing_found_is_an_empty_context() -> None:
    assert packed([]) == Context("", (), 0, 0)


def test_equal_scores_are_ordered_by_chunk_id_whatever_the_order_they_come_in() -> None:
    findings = [a_finding(a_passage(document=f"{n}.md")) for n in range(6)]
    context = packed(findings)
    ids = [source.citation.chunk_id for source in context.sources]
    assert ids == sorted(ids)
    assert packed(findings[::-1]) == context


def test_a_finding_that_comes_twice_counts_once_with_its_better_score() -> None:
    context = packed([a_finding(score=0.2), a_finding(score=0.9), a_finding(score=0.5)])
    assert [source.score for source in context.sources] == [0.9]


@pytest.mark.parametrize(
    ("title", "section", "page", "label"),
    [
        ("Tides", "Reading", None, "[Source 3: Tides - Reading]"),
        ("Tides", "N/A", None, "[Source 3: Tides]"),
        ("Tides", "Tides", 2, "[Source 3: Tides (p. 2)]"),
        ("Tides", "", 0, "[Source 3: Tides (p. 0)]"),
        ("A\n[Source 1: b]", "c]\n---\nd", None, "[Source 3: A (Source 1: b) - c) --- d]"),
    ],
)
def test_a_label_names_title_section_and_page(title: str, section: str, page: int | None, label: str) -> None:
    assert _block(3, a_passage(title=title, section=section, page=page), "text") == f"{label}\ntext"


def test_neighbors_are_one_source_in_the_order_of_the_document() -> None:
    first, second = a_passage("One. Two.", lines=(1, 1)), a_passage("Two. Three.", position=1, lines=(1, 1))
    (source,) = packed([a_finding(second), a_finding(first)]).sources
    assert (source.text, source.passages) == ("One. Two. Three.", (first, second))


def test_a_joined_source_has_the_score_and_name_of_its_best_passage() -> None:
    findings = [a_finding(a_passage(position=n), score=score) for n, score in ((3, 0.3), (4, 0.8), (5, 0.5))]
    (source,) = packed(findings).sources
    assert source.score == 0.8
    assert source.citation.chunk_id == findings[1].passage.chunk_id
    assert source.citation.lines == (301, 501)


@pytest.mark.parametrize(
    "other", [a_passage(position=2), a_passage(position=1, anchor="other"), a_passage(position=1, document="other.md")]
)
def test_only_consecutive_passages_of_one_section_are_joined(other: Passage) -> None:
    assert len(packed([a_finding(), a_finding(other)]).sources) == 2


def test_tokens_are_those_of_the_whole_text_with_labels_and_rules() -> None:
    findings = [of_words(5, document=f"{n}.md") for n in range(12)]
    context = packed(findings)
    assert [context.tokens] == WordCounter().counts([context.text])
    assert context.tokens == context.tokens_before == 12 * (5 + LABEL_TOKENS) + 11 * 3


def test_a_source_that_does_not_fit_is_left_out_and_a_smaller_one_takes_its_place() -> None:
    findings = [
        of_words(20, document="best.md", score=0.9),
        of_words(50, document="large.md", score=0.8),
        of_words(9, document="small.md", score=0.7),
    ]
    budget = 20 + LABEL_TOKENS + 3 + 9 + LABEL_TOKENS
    context = packed(findings, budget)
    assert [(source.n, source.citation.document) for source in context.sources] == [(1, "best.md"), (2, "small.md")]
    assert (context.tokens, context.tokens_before) == (budget, budget + 3 + 50 + LABEL_TOKENS)
    assert len(packed(findings, budget - 1).sources) == 1


def test_the_best_source_is_cut_at_a_line_rather_than_left_out() -> None:
    passage = a_passage("## Reading\n\none two\n\nthree four\n\nfive six")
    context = packed([a_finding(passage)], LABEL_TOKENS + 8)
    assert context.sources[0].text == "## Reading\n\none two\n\nthree four"
    assert context.tokens == LABEL_TOKENS + 7
    assert context.text.count("\n\n") == 2


def test_a_joined_source_that_is_too_long_keeps_its_best_passage_and_what_fits_around_it() -> None:
    scores = [0.1, 0.3, 0.9, 0.4, 0.2]
    findings = [a_finding(a_passage("tide " * 10, position=n), score=score) for n, score in enumerate(scores)]
    context = packed(findings, LABEL_TOKENS + 39)
    assert [passage.position for passage in context.sources[0].passages] == [1, 2, 3]
    assert context.sources[0].citation.lines == (101, 301)


@pytest.mark.parametrize("budget_tokens", [-1, 0, 1, LABEL_TOKENS])
def test_a_budget_without_room_for_a_word_leaves_nothing(budget_tokens: int) -> None:
    context = packed([of_words(5)], budget_tokens)
    assert (context.text, context.sources, context.tokens) == ("", (), 0)
    assert context.tokens_before == 5 + LABEL_TOKENS


FENCE = "Intro.\n\n```\na\nb\n```\n\nAfter."
TABLE = "Intro.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nAfter."


@pytest.mark.parametrize(
    ("text", "most_lines", "kept"),
    [
        (FENCE, 99, FENCE),
        (FENCE, 7, FENCE.removesuffix("\n\nAfter.")),
        (FENCE, 6, FENCE.removesuffix("\n\nAfter.")),
        (FENCE, 5, "Intro."),
        (TABLE, 6, TABLE.removesuffix("\n\nAfter.")),
        (TABLE, 5, "Intro."),
        ("# A\n\n```\na\nb\n```", 4, "# A\n\n```\na"),  # only a heading would be left
        ("# A\n\n```\n# a comment\nb\n```", 4, "# A\n\n```\n# a comment"),
        ("# A\n## B\ntext", 2, "# A\n## B"),
        ("a\nb\n\n\nc", 4, "a\nb"),
    ],
)
def test_a_text_is_cut_outside_code_and_tables_where_that_leaves_something(
    text: str, most_lines: int, kept: str
) -> None:
    assert cut_to_fit(text, lambda beginning: len(beginning.split("\n")) <= most_lines) == kept


def test_a_part_of_a_block_is_cited_without_its_repeated_fence() -> None:
    _, middle, _ = parts_of_a_block(CODE, ("a", (1, 2)), ("c = 1", (5, 5)), ("d", (6, 7)), head="```sh\n", tail="\n```")
    context = packed([a_finding(middle)])
    assert context.sources[0].text == "```sh\nc = 1\n```"
    assert context.sources[0].citation.excerpt == "c = 1"
    assert context.sources[0].citation.lines == (5, 5)
    (unit,) = context.sources[0].units
    grounds = Grounds(1.0, "answered", (Evidence(unit, 1.0),))
    assert PACK.citation(context.sources[0], grounds).excerpt == "c = 1"


# A selection that is too long for a prompt: which of its paragraphs stay


QUERY = Query("When does the tide gauge freeze?", request_id="r-1", asked_at=0.0, principal=OWNER)
GULLS = "Gulls rest on the pier and on the roofs of the sheds."
TIDE = "The tide comes twice a day, as everybody here knows."
OTHER_TIDE = "A tide is high at the springs and low at the neaps."
FREEZE = "Its float and its gauge freeze below minus ten degrees."


def fit(*paragraphs: str, budget_tokens: int) -> str:
    """What is left of a selection where its text has so much room."""
    context = PACK.within(ROOM_FOR_LABEL + budget_tokens).selected(QUERY, Selection("\n\n".join(paragraphs)))
    return context.sources[0].text


def tokens(text: str) -> int:
    return WordCounter().counts([text])[0]


def test_a_text_that_fits_is_left_as_it_is() -> None:
    text = f"{GULLS}\n\n\n \n{FREEZE}"
    assert fit(text, budget_tokens=tokens(text)) == text


def test_the_paragraphs_with_the_question_s_stems_stay_in_their_order_and_a_mark_stands_for_the_others() -> None:
    kept = fit(GULLS, TIDE, GULLS, GULLS, FREEZE, GULLS, budget_tokens=40)
    assert kept.split("\n\n") == [LEFT_OUT, TIDE, LEFT_OUT, FREEZE, LEFT_OUT]


def test_one_rare_stem_counts_more_than_two_that_stand_everywhere() -> None:
    common = "The gauge of the tide stands on the outer pier."
    rare = "Below minus ten degrees the float and its well freeze."
    assert fit(common, common, common, rare, budget_tokens=20).split("\n\n") == [LEFT_OUT, rare]


def test_of_equally_good_paragraphs_the_earlier_one_stays() -> None:
    assert fit(TIDE, OTHER_TIDE, budget_tokens=20).split("\n\n") == [TIDE, LEFT_OUT]


def test_a_fence_is_kept_whole_or_not_at_all() -> None:
    fence = "```python\n# the tide gauge\n\nfreeze(gauge)\n\nthaw(gauge)\n```"
    kept = fit(GULLS, GULLS, fence, GULLS, budget_tokens=30)
    assert kept.split(f"{LEFT_OUT}\n\n")[1].removesuffix(f"\n\n{LEFT_OUT}") == fence
    assert "gauge" not in fit(GULLS, fence, GULLS, budget_tokens=20)


def test_a_fence_that_is_never_closed_reaches_to_the_end() -> None:
    kept = fit(*[GULLS] * 4, "~~~\nfreeze(gauge)", "thaw(gauge)", budget_tokens=25)
    assert kept.endswith("~~~\nfreeze(gauge)\n\nthaw(gauge)")


def test_one_paragraph_over_the_budget_is_left_for_the_packing_to_cut() -> None:
    long = "The gauge may freeze. " * 50
    assert long.startswith(fit(long, budget_tokens=20))
    assert fit(GULLS, long.strip(), budget_tokens=8).startswith("The gauge may freeze. The gauge")


def test_the_budget_holds_with_all_marks_counted() -> None:
    paragraphs = [f"{FREEZE} {at}" if at % 2 else f"Gull {at}." for at in range(60)]
    for budget in range(20, 300, 7):
        assert 0 < tokens(fit(*paragraphs, budget_tokens=budget)) <= budget


@pytest.mark.parametrize("piece", [f"{GULLS}\n\n", "x ", "```\n\n"])
def test_the_work_grows_with_the_selection_and_no_faster(piece: str) -> None:
    assert_linear(lambda text: fit(text, FREEZE, budget_tokens=1_900), piece, characters=150_000)


class CharacterCounter:
    """A token for every character."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        return list(map(len, texts))


@pytest.mark.parametrize("budget_tokens", [60, 120, 200])
@pytest.mark.parametrize(
    "page",
    [
        "# Tides\n\n```json\n[" + ",".join(map(str, range(300))) + "]\n```\n",
        "# Tides\n\nThe token is this:\n\n```json\n" + "\n".join(f'"tide": {at},' for at in range(99)) + "\n```\n",
        "# Tides\n\n1. Run:\n   ```sh\n" + "   tide --now\n" * 99 + "   ```\n",
    ],
)
def test_an_excerpt_over_the_budget_is_cut_with_its_fences_closed_and_something_in_them(
    page: str, budget_tokens: int
) -> None:
    excerpts = Excerpts()("What does the tide token look like?", sections_in(page))
    context = Pack(CharacterCounter(), Addresses(), budget_tokens).quoted(excerpts)
    for source in context.sources:
        assert Markdown(source.text).ended() == source.text
        assert re.search(r"\d|tide", re.sub(r"```\w*", "", source.text))
        assert source.tokens <= budget_tokens
    assert context.sources or budget_tokens < 100
