"""What the side-by-side benchmark counts as wrong, short, stale and won."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.drivers import last_line, silent_environment
from benchmarks.judged import Judged
from benchmarks.peers.contenders import OURSELVES, PEERS, Contender
from benchmarks.peers.files import TENANTS, Chunk, Corpus, Job, Question
from benchmarks.peers.harness import Hit, SearchTimes, search_times
from benchmarks.peers.material import REWRITTEN, Page, by_tenant, chosen, edited_text
from benchmarks.peers.measures import fastest_right, lead, measures, near_fastest, peer_wins
from benchmarks.peers.outcome import Outcome, Speed, quality
from benchmarks.peers.report import printed, results_of
from benchmarks.peers.turns import alternating, median_of, with_new_times
from benchmarks.peers.venvs import PINS

from citewise.model.chunk import Vector

SEEN = frozenset({"t0"})


class Fixed:
    """Finds the same chunks whatever is asked."""

    def __init__(self, *keys: str) -> None:
        self._hits = [Hit(key, key) for key in keys]

    def ingest(self, corpus: Corpus) -> None: ...

    def search(self, question: str, *, tenants: frozenset[str] | None, top_k: int) -> list[Hit]:
        return self._hits


def a_corpus(tenants: str = "001", questions: int = 5) -> Corpus:
    chunks = [Chunk(f"c{at}", f"d{at}", f"t{tenant}", f"text {at}") for at, tenant in enumerate(tenants)]
    asked = [Question(str(at), f"question {at}") for at in range(questions)]
    nothing = np.zeros((0, 384), np.float32)
    return Corpus(chunks, nothing, asked, nothing, Path())


def a_job(top_k: int = 2, warm_up: int = 1) -> Job:
    return Job(Path(), Path(), Path(), (), {}, top_k=top_k, depth=50, warm_up=warm_up)


def an_outcome(contender: Contender, p50_ms: float, *, wrong: int = 0, short: int = 0) -> Outcome:
    asked = SearchTimes("10 %", 1000, 100, p50_ms, 2 * p50_ms, 3 * p50_ms, p50_ms, wrong, short)
    return Outcome(contender, speed=Speed(1.0, 10_000, (asked,)), quality={"scifact": 1 / p50_ms})


def a_page(number: int, chunks: int) -> Page:
    return Page("set", f"{number}.md", "", ("text",) * chunks, (Vector(b""),) * chunks)


@pytest.mark.parametrize(
    ("found", "tenants", "visible", "wrong", "short"),
    [
        ("c0 c1", SEEN, 2, 0, 0),
        ("c0 c2", SEEN, 2, 4, 4),
        ("c0", SEEN, 2, 0, 4),
        ("c2", frozenset({"t1"}), 1, 0, 0),
        ("c0 c0", SEEN, 2, 0, 4),
        ("c0 c1 c2", SEEN, 2, 0, 0),
        ("c0 c2", None, 3, 0, 0),
    ],
    ids=[
        *("all of one's own", "one of another tenant", "one too few", "no more are visible", "the same twice"),
        *("more than were asked for", "by one who sees all"),
    ],
)
def test_hits_are_wrong_or_short_by_what_a_principal_sees_and_the_warm_up_is_not_timed(
    found: str, tenants: frozenset[str] | None, visible: int, wrong: int, short: int
) -> None:
    asked = search_times("somebody", tenants, Fixed(*found.split()), a_corpus(), a_job())
    assert (asked.questions, asked.visible, asked.wrong, asked.short) == (4, visible, wrong, short)


def test_an_edit_rewrites_one_paragraph_and_drops_the_last_section() -> None:
    text = f"# Title\n\n## One\n\n{'a long line ' * 20}\n\nkept\n\n## Two\n\nalso kept\n\n## Three\n\ngone\n"
    edited = edited_text(text)
    assert edited == f"# Title\n\n## One\n\n{REWRITTEN}\n\nkept\n\n## Two\n\nalso kept\n\n"


@pytest.mark.parametrize("text", ["# No sections\n", "## One\n\nshort\n\n## Two\n\n## Three\n"])
def test_a_text_without_sections_or_long_paragraphs_is_not_edited(text: str) -> None:
    assert edited_text(text) is None


def test_whole_documents_are_taken_and_never_more_chunks_than_asked_for() -> None:
    taken = chosen([a_page(number, 3) for number in range(100)], 200)
    assert sum(len(page.texts) for page in taken) == 198


def test_each_tenant_holds_about_a_tenth_and_the_draw_is_always_the_same() -> None:
    pages = [a_page(number, 1) for number in range(5_000)]
    counts = [sum(page.tenant == tenant for page in pages) for tenant in TENANTS]
    assert min(counts) > 400
    assert max(counts) < 600
    assert by_tenant(pages[:1])[0][0] == "t7/set/0.md"


def test_a_question_without_an_answer_counts_as_nothing_found() -> None:
    judged = Judged({"1": "?", "2": "?"}, {"1": {"a": 1}, "2": {"b": 1}}, {"a.md": "a", "b.md": "b"})
    assert quality({"1": ["a.md", "b.md"]}, judged) == 0.5


def test_the_fastest_peer_that_is_right_is_not_the_fastest_one() -> None:
    quick = an_outcome(PEERS[0], 2.0, short=1)
    right = an_outcome(PEERS[1], 9.0)
    assert fastest_right([quick, right, an_outcome(PEERS[2], 10.0)], "10 %") is right


def test_the_lead_is_a_ratio_of_medians() -> None:
    told = lead(an_outcome(OURSELVES, 2.0), [an_outcome(PEERS[0], 9.0)], "10 %")
    assert told == "10 %: citewise 2.0 ms, fastest correct peer LanceDB 9.0 ms, ratio 4.5"


def test_where_no_peer_is_right_there_is_nothing_to_compare_with() -> None:
    assert "nothing to compare" in lead(an_outcome(OURSELVES, 2.0), [an_outcome(PEERS[0], 9.0, wrong=1)], "10 %")


def test_a_win_of_a_peer_says_what_it_got_wrong() -> None:
    peer = an_outcome(PEERS[0], 1.0, wrong=3, short=2)
    wins = list(peer_wins(an_outcome(OURSELVES, 2.0), [peer], measures(["10 %"], ["scifact"])))
    assert (
        wins[0]
        == "p50 ms, 10 %: LanceDB 1.0 (not right under the filters: 3 wrong hits, 2 short answers), citewise 2.0"
    )
    assert wins[-1] == "nDCG@10 scifact: LanceDB 1.0000, citewise 0.5000"


def test_equal_numbers_are_no_win() -> None:
    peer = an_outcome(PEERS[0], 2.0)
    assert list(peer_wins(an_outcome(OURSELVES, 2.0), [peer], measures(["10 %"], ["scifact"]))) == []


def test_those_who_take_turns_are_asked_in_every_order() -> None:
    said: list[tuple[Contender, str]] = []

    def turn(who: Contender, principal: str) -> SearchTimes:
        said.append((who, principal))
        return SearchTimes(principal, 1000, 100, float(len(said)), 0.0, 0.0, 0.0, 0, 0)

    both = (OURSELVES, PEERS[0])
    found = alternating({one: partial(turn, one) for one in both}, ["10 %", "all"], rounds=3)
    assert [len(rounds) for rounds in found.values()] == [6, 6]
    assert [one for one, _ in said[:8]] == [*both, *both, *both[::-1], *both[::-1]]
    assert [one.p50_ms for one in found[OURSELVES] if one.principal == "10 %"] == [1.0, 6.0, 9.0]


def test_of_several_rounds_the_median_time_counts_and_the_worst_of_what_went_wrong() -> None:
    rounds = [
        SearchTimes("10 %", 1000, 100, p50, 2 * p50, 3 * p50, p50 / 2, wrong, 0)
        for p50, wrong in ((9.0, 0), (2.0, 1), (3.0, 0))
    ]
    assert median_of(rounds) == SearchTimes("10 %", 1000, 100, 3.0, 6.0, 9.0, 1.5, 1, 0)


def test_the_lead_and_the_wins_are_those_of_the_rounds_and_the_report_says_whose_they_are() -> None:
    once = [an_outcome(OURSELVES, 2.0), an_outcome(PEERS[0], 9.0), an_outcome(PEERS[1], 50.0)]
    slow, quick = once[0].speed, once[1].speed
    assert slow is not None
    assert quick is not None
    anew = [
        with_new_times(once[0], [slow.searches[0]] * 3),
        with_new_times(once[1], [replace(quick.searches[0], p50_ms=1.0)] * 3),
    ]
    outcomes = [*anew, once[2]]
    told = results_of(outcomes, ["10 %"], [])
    assert "searches of citewise, LanceDB are medians of 3 rounds taken in turns" in told.tables[0].note
    assert "fastest correct peer LanceDB 1.0 ms, ratio 0.5" in told.tables[0].note
    assert ("p50 ms, 10 %: LanceDB 1.0, citewise 2.0",) in told.tables[3].rows
    assert "Each was measured once" in results_of(once, ["10 %"], []).tables[0].note


def test_whoever_could_be_the_fastest_takes_turns_and_nobody_who_is_not_right() -> None:
    wrong, best = an_outcome(PEERS[0], 1.0, wrong=1), an_outcome(PEERS[1], 10.0)
    near, far = an_outcome(PEERS[2], 12.0), an_outcome(PEERS[3], 30.0)
    assert near_fastest([wrong, best, near, far], ["10 %"]) == [best, near]
    assert near_fastest([wrong], ["10 %"]) == []


def test_no_contender_spends_its_time_on_warnings_about_every_question() -> None:
    assert silent_environment()["LANCEDB_LOG"] == "error"


def test_a_peer_that_could_not_be_installed_is_a_column_that_says_why() -> None:
    outcomes = [an_outcome(OURSELVES, 2.0), Outcome(PEERS[0], problems=("pip install failed",))]
    lines = list(printed(outcomes, measures(["10 %"], [])))
    table = results_of(outcomes, ["10 %"], []).tables[0]
    assert "LanceDB: pip install failed" in lines
    assert table.rows[-1] == ("problems", None, "pip install failed")


def test_every_peer_has_pins_and_none_names_a_place_to_fetch_from() -> None:
    for peer in PEERS:
        lines = (PINS / f"{peer.name}.txt").read_text("utf-8").splitlines()
        assert all("==" in line and "/" not in line and "+" not in line for line in lines)


def test_the_last_words_of_a_log_hold_no_path_of_this_machine() -> None:
    assert last_line(f"one\nno file {Path(__file__)}\n\n") == "no file ./tests/unit/benchmarks/test_peers.py"
