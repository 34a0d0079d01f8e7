"""The report of a run is one HTML file that needs no network and escapes all text."""

import random
import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import pytest

from citewise.cli.eval_results import ABSENT
from citewise.cli.html import MAX_LISTED, MINUS, OPENED, report_html
from citewise.evaluation.cases import Kind, Place
from citewise.evaluation.compare import Comparison
from citewise.evaluation.runs import QuestionResult, Run
from citewise.model.answer import Outcome
from tests.unit.cli.pages import Page
from tests.unit.evaluation.runs import a_run, an_outcome, run_of, some_ablations

EVIL = "</td></details><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202e"
OUTCOME = QuestionResult(
    id="q-1",
    question="When is the gauge read?",
    kind="answerable",
    group="plain",
    measures={"ndcg@10": 0.63, "recall@5": 1.0},
    latency_ms=12.0,
    expected=(Place("tides.md", "Readings", (5, 9), None, 2),),
    found=(Place("boats.md", "Engines", (1, 4)), Place("tides.md", "Readings", (5, 9), None, 2)),
)


@cache  # the significance tests in it take most of a second
def whole_report() -> str:
    run = a_run(40)
    other = a_run(40, seed=2)
    return report_html(
        run, differences=Comparison(other, run).differences(["ndcg@10", "mrr@10"]), ablations=some_ablations(run)
    )


def shown(run: Run) -> str:
    return Page(report_html(run)).text


def test_everything_that_is_opened_is_closed_in_order() -> None:
    assert Page(whole_report()).open == []


def test_nothing_is_fetched_from_anywhere() -> None:
    page = Page(whole_report())
    assert {"link", "img", "iframe", "object", "embed", "form", "base"}.isdisjoint(page.names)
    assert not [name for name, _ in page.attributes if name in ("src", "srcset", "action") or name.startswith("on")]
    assert all((value or "").startswith("#") for name, value in page.attributes if name == "href")
    assert "url(" not in whole_report()
    assert "@import" not in whole_report()


def test_the_policy_admits_no_script() -> None:
    page = Page(whole_report())
    assert "script" not in page.names
    policies = [value for name, value in page.attributes if name == "content" and "default-src" in str(value)]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_ids_are_unique_and_every_link_leads_to_one() -> None:
    page = Page(whole_report())
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value for name, value in page.attributes if name == "href"} <= {f"#{each}" for each in ids}


def test_hostile_words_stay_words_wherever_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(EVIL, EVIL, (1, 2), EVIL, 1)
    outcome = QuestionResult(
        EVIL, EVIL, "answerable", EVIL, {"ndcg@10": 0.0, EVIL: 0.5}, 3.0, (place,), (place,), EVIL, "answered", EVIL
    )
    run = replace(run_of(outcome, settings={EVIL: {EVIL: [EVIL]}}), set=EVIL, commit=EVIL, stages_ms={EVIL: 1.0})
    monkeypatch.setattr("sys.argv", [EVIL, EVIL])
    html = report_html(run, differences=Comparison(run, run).differences(), ablations=some_ablations(run))
    page = Page(html)
    assert page.open == []
    assert "script" not in page.names
    assert "img" not in page.names
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_a_page_says_the_date_and_the_command_that_is_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/citewise", "eval", "my book", "--report", "out.html"])
    page = shown(run_of(OUTCOME))
    assert "Made by citewise eval 'my book' --report out.html" in page
    assert datetime.now(UTC).strftime("%Y-%m-%d") in page


def test_metrics_stand_in_tiles_and_in_a_table_by_group() -> None:
    page = shown(
        run_of(OUTCOME, replace(OUTCOME, id="q-2", group="table", measures={"ndcg@10": 0.37, "recall@5": 0.0}))
    )
    assert "ndcg@10 0.500" in page
    assert "metric all plain table questions 2 1 1 ndcg@10 0.500 0.630 0.370" in page


WRONG, FULL = OUTCOME.found


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (OUTCOME, "Expected place grade found at tides.md :5-9 Readings 2 2"),
        (OUTCOME, "Found # place grade 1 boats.md :1-4 Engines 0 2 tides.md :5-9 Readings ✓ 2"),
        (OUTCOME, "first answer at 2"),
        (
            replace(OUTCOME, expected=(*OUTCOME.expected, Place("nets.md", "Knots", grade=1))),
            f"tides.md :5-9 Readings 2 2 nets.md Knots 1 {ABSENT}",
        ),
        (replace(OUTCOME, found=(WRONG,)), "no answer in the first 1"),
        (
            replace(OUTCOME, found=(WRONG, replace(FULL, grade=1), FULL)),
            "2 tides.md :5-9 Readings part 1 3 tides.md :5-9 Readings ✓ 2",
        ),
    ],
    ids=["expected", "found", "where", "an expected place that was not found", "nothing", "a part of an answer"],
)
def test_expected_stands_beside_found_with_lines_section_and_grade(outcome: QuestionResult, words: str) -> None:
    assert words in shown(run_of(outcome))


def test_settings_and_the_latency_of_searches_are_listed() -> None:
    selected = replace(OUTCOME, id="s", kind="selected", latency_ms=5000.0)  # which is no search
    settings = {"fusion": "rrf", "search.weights": {"words": 0.6}, "top_k": 10}
    page = shown(run_of(OUTCOME, selected, settings=settings))
    assert 'fusion rrf search.weights {"words": 0.6} top_k 10' in page
    assert "p50 12 ms" in page


def test_the_wanted_answer_stands_beside_the_one_that_came() -> None:
    each = replace(OUTCOME, expected_answer="At noon.", answer="Boats have engines. [1]", outcome="answered")
    page = shown(run_of(each))
    assert "Expected wanted At noon. place" in page
    assert "Found answered Boats have engines. [1] #" in page
    assert "Found not sure Boats" in shown(run_of(replace(each, outcome="unsure")))
    assert "Found refused None. #" in shown(run_of(replace(each, answer="None.", outcome="nothing")))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("unanswerable", "a refusal: nothing in the library answers this"),
        ("selected", "an answer from the selection alone, or a refusal"),
    ],
)
def test_where_no_place_is_expected_the_page_says_what_is(kind: Kind, expected: str) -> None:
    assert f"Expected {expected} Found" in shown(run_of(QuestionResult("q", "Why?", kind)))


def test_what_was_wrong_about_an_answer_is_said_in_words() -> None:
    poor = replace(OUTCOME, measures={"refusal_accuracy": 0.0, "citation_accuracy": 0.5}, outcome="answered")
    assert "answered without grounds; only 50% of its citations are true Expected" in shown(run_of(poor))
    assert "citations are true" not in shown(run_of(OUTCOME))


def test_the_poorest_questions_stand_open() -> None:
    poor = [replace(OUTCOME, id=f"p{at:02}", measures={"ndcg@10": 0.1}) for at in range(OPENED + 2)]
    html = report_html(run_of(OUTCOME, *poor[:3]))
    assert html.count("<details open>") == 3
    assert html.index("<details open>") < html.index("<details>")
    many = report_html(run_of(OUTCOME, *poor))
    assert many.count("<details open>") == OPENED


def test_a_group_that_is_called_as_its_kind_is_said_once() -> None:
    html = report_html(run_of(replace(OUTCOME, kind="selected", group="selected", expected=(), outcome="nothing")))
    assert '<span class="remark">selected · refused</span>' in html


@pytest.mark.parametrize(
    ("measures", "outcome"),
    [
        ({"ndcg@10": 0.1}, None),
        ({"ndcg@10": 1.0, "refusal_accuracy": 0.0}, "nothing"),
        ({"selected_leaks": 1.0}, "answered"),
    ],
)
def test_poor_questions_come_first_whatever_they_are_poor_at(
    measures: dict[str, float], outcome: Outcome | None
) -> None:
    fine = replace(OUTCOME, id="a", question="A fine one", measures={"ndcg@10": 1.0, "refusal_accuracy": 1.0})
    poor = replace(OUTCOME, id="z", question="A poor one", measures=measures, outcome=outcome)
    page = shown(run_of(fine, poor))
    assert page.index("A poor one") < page.index("A fine one")
    assert "1 question of 2 below 0.5" in page


@pytest.mark.parametrize(
    ("measures", "number"),
    [
        ({"ndcg@10": 0.1, "refusal_accuracy": 1.0}, "0.100 ndcg@10"),
        ({"ndcg@10": 1.0, "refusal_accuracy": 0.0}, "0.000 refusal_accuracy"),
        ({"selected_accuracy": 1.0, "selected_leaks": 1.0}, "1 selected_leaks"),
        ({}, f"{ABSENT} A poor one"),
    ],
)
def test_the_number_of_a_question_has_the_name_of_the_measure_it_is_worst_at(
    measures: dict[str, float], number: str
) -> None:
    fine = replace(OUTCOME, measures={"ndcg@10": 1.0, "refusal_accuracy": 1.0})
    assert number in shown(run_of(fine, replace(OUTCOME, id="z", question="A poor one", measures=measures)))


def test_only_so_many_questions_are_listed_and_the_rest_is_counted() -> None:
    draw = random.Random(1)
    html = report_html(run_of(*(an_outcome(number, draw) for number in range(MAX_LISTED + 3))))
    assert html.count("<details") == MAX_LISTED
    assert "3 better questions left out" in html


def test_a_comparison_gives_change_interval_and_verdict() -> None:
    before = a_run(60, quality=0.3)
    after = run_of(*(replace(each, measures={**each.measures, "mrr@10": 1.0}) for each in before.questions))
    page = Page(report_html(after, differences=Comparison(before, after).differences(["mrr@10", "ndcg@10"]))).text
    assert re.search(r"mrr@10 0\.\d+ 1\.000 \+0\.\d+ \+0\.\d+ to \+0\.\d+ 60 \d+ 0 < 0\.001 better", page)
    assert re.search(r"ndcg@10 (0\.\d+) \1 0\.000 0\.000 to 0\.000 60 0 0 1\.000 same", page)


def test_ablations_give_each_run_with_its_change() -> None:
    run = a_run(80)
    page = Page(report_html(run, ablations=some_ablations(run))).text
    assert re.search(r"everything 0\.\d{3} 0\.\d{3}", page)
    assert re.search(rf"without dense 0\.\d{{3}} \({MINUS}0\.\d{{3}}\*\)", page)


def test_a_run_of_nothing_is_still_a_page() -> None:
    empty = Run("empty", "passage", (), {}, {}, None)
    assert Page(report_html(empty)).open == []
    assert "0 questions" in shown(empty)


def test_a_long_answer_is_cut() -> None:
    html = report_html(run_of(replace(OUTCOME, answer="word " * 1000)))
    assert html.count("word ") < 500
    assert "…</p>" in html
