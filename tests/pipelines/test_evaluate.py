"""`evaluate` on ten documents, against numbers that were worked out by hand."""

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from citewise.errors import BadData, BadRequest
from citewise.evaluation.compare import Ablation
from citewise.evaluation.pipeline import EVERYTHING, ablate, evaluate
from citewise.evaluation.runs import Run
from citewise.ingest.targets import IngestOptions
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.report import Step
from citewise.settings import Settings
from tests.judged import WORDS_ALONE, answerable, beir_folder, pages, write_questions
from tests.pipelines.harness import Shelf

SECOND = 1 / math.log2(3)  # what a gain is worth in second place: 0.63093
THIRD = 1 / math.log2(4)  # and in third: 0.5


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path, search=WORDS_ALONE)


@pytest.fixture
def book(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, pages(), search=WORDS_ALONE)


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    return beir_folder(tmp_path / "tiny")


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Questions to the book."""
    return write_questions(tmp_path / "three.json", answerable())


def evaluated(
    shelf: Shelf, judged: Path, *, answers: bool = False, principal: Principal = OWNER, scope: Scope | None = None
) -> Run:
    events = evaluate(
        shelf.settings, judged, principal=principal, scope=scope, answers=answers, open_library=shelf.library
    )
    return next(event for event in events if isinstance(event, Run))


def ablated(shelf: Shelf, judged: Path, *, principal: Principal = OWNER) -> tuple[Ablation, ...]:
    events = ablate(shelf.settings, judged, principal=principal, open_library=shelf.library)
    return tuple(event for event in events if isinstance(event, Ablation))


def by_id(run: Run) -> dict[str, Mapping[str, float]]:
    return {outcome.id: outcome.measures for outcome in run.questions}


def test_a_beir_folder_gives_the_numbers_that_paper_gives(shelf: Shelf, judged: Path) -> None:
    """q1 finds d1 d2 d3, graded - 2 1; q2 finds d4 d5, graded 1 -; q3 finds d6 d7, graded - 1, and never its ghost."""
    run = evaluated(shelf, judged)
    measures = by_id(run)
    q1 = (2 * SECOND + 1 * THIRD) / (2 + 1 * SECOND)  # 1.76186 / 2.63093 = 0.66967
    q2 = 1.0
    q3 = SECOND / (1 + SECOND)  # 0.63093 / 1.63093 = 0.38685
    assert [measures[id_]["ndcg@10"] for id_ in ("q1", "q2", "q3")] == pytest.approx([q1, q2, q3])
    assert run.metrics["ndcg@10"] == pytest.approx(0.685508, abs=1e-6)
    assert run.metrics["recall@5"] == pytest.approx((2 / 2 + 1 / 1 + 1 / 2) / 3)
    assert run.metrics["recall@1"] == pytest.approx((0 + 1 + 0) / 3)
    assert run.metrics["precision@5"] == pytest.approx((2 / 5 + 1 / 5 + 1 / 5) / 3)
    assert run.metrics["mrr@10"] == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert (run.set, run.queries) == ("tiny", 3)


def test_a_question_file_gives_the_numbers_that_paper_gives(book: Shelf, three: Path) -> None:
    """k finds Much, Some (grade 2), little.md (grade 1); a finds its lines first; l finds Some, then Bit (grade 2)."""
    run = evaluated(book, three)
    measures = by_id(run)
    k = (2 * SECOND + 1 * THIRD) / (2 + 1 * SECOND)
    assert measures["k"]["ndcg@10"] == pytest.approx(k)
    assert measures["a"]["ndcg@10"] == 1.0
    assert measures["l"]["ndcg@10"] == pytest.approx(2 * SECOND / 2)
    assert run.metrics["ndcg@10"] == pytest.approx((0.669672 + 1 + 0.630930) / 3, abs=1e-6)
    assert [measures["k"][name] for name in ("recall@1", "recall@5", "mrr@10", "precision@5")] == [0, 1, 1 / 2, 2 / 5]
    assert [measures["a"][name] for name in ("recall@1", "recall@5", "mrr@10")] == [1, 1, 1]
    assert run.groups["plain"]["ndcg@10"] == pytest.approx((k + 1) / 2)
    assert run.groups.keys() == {"plain", "hard"}


def test_what_was_found_stands_beside_what_was_expected(book: Shelf, three: Path) -> None:
    run = evaluated(book, three)
    kelp = run.questions[0]
    assert [(each.document, each.section, each.grade) for each in kelp.found[:3]] == [
        ("kelp.md", "Much", 0),
        ("kelp.md", "Some", 2),
        ("little.md", "Bit", 1),
    ]
    assert [(each.document, each.grade) for each in kelp.expected] == [("kelp.md", 2), ("little.md", 1)]
    assert kelp.latency_ms > 0
    assert run.latency_ms.keys() == {"p50", "p95", "p99"}
    assert {"rankings", "fuse", "hydrate"} <= run.stages_ms.keys()


def test_a_corpus_is_taken_in_once(shelf: Shelf, judged: Path) -> None:
    first = evaluated(shelf, judged)
    assert len(shelf.embedder.embedded) == 10
    before = shelf.snapshot()
    shelf.embedder.embedded.clear()
    assert evaluated(shelf, judged).metrics == first.metrics
    assert shelf.embedder.embedded == []
    assert shelf.snapshot() == before


def test_the_second_run_writes_nothing_at_all(shelf: Shelf, judged: Path) -> None:
    evaluated(shelf, judged)
    with shelf.opened():  # holds the write lock: whoever wanted it would fail
        assert evaluated(shelf, judged).queries == 3


def test_ingesting_a_folder_leaves_the_corpus_alone(shelf: Shelf, judged: Path) -> None:
    evaluated(shelf, judged)
    shelf.write("note.md", "# Note\n\nSomething else.\n")
    shelf.ingest()
    shelf.ingest(judged, IngestOptions(name="other"))
    paths = shelf.snapshot().keys()
    assert sum(path.startswith("tiny/") for path in paths) == 10
    assert "note.md" in paths


@pytest.mark.parametrize(("page", "name"), [("note.md", "tiny"), ("tiny/d1.md", None)])
def test_a_set_with_the_name_of_other_documents_is_refused(
    shelf: Shelf, page: str, name: str | None, judged: Path
) -> None:
    shelf.write(page, "# Note\n\nSomething else.\n")
    shelf.ingest(options=IngestOptions(name=name))
    before = shelf.snapshot()
    with pytest.raises(BadRequest, match=r"'tiny' is in use by other documents of .*: choose another name or project"):
        evaluated(shelf, judged)
    assert shelf.snapshot() == before
    assert evaluated(shelf, judged, scope=Scope(project="tiny")).queries == 3


def test_a_changed_document_of_the_corpus_is_taken_in_again(shelf: Shelf, judged: Path) -> None:
    evaluated(shelf, judged)
    corpus = judged / "corpus.jsonl"
    corpus.write_text(corpus.read_text("utf-8").replace("xd80", "kelp kelp kelp kelp"), "utf-8")
    shelf.embedder.embedded.clear()
    run = evaluated(shelf, judged)
    assert len(shelf.embedder.embedded) == 1
    assert run.questions[0].found[0].document == "tiny/d8.md"


def rewritten(folder: Path, *, without: str) -> None:
    corpus = folder / "corpus.jsonl"
    lines = corpus.read_text("utf-8").splitlines()
    corpus.write_text("\n".join(line for line in lines if f'"{without}"' not in line), "utf-8")


def test_a_document_that_leaves_the_corpus_leaves_the_library(shelf: Shelf, judged: Path) -> None:
    evaluated(shelf, judged)
    rewritten(judged, without="d1")
    run = evaluated(shelf, judged)
    assert run.questions[0].found[0].document == "tiny/d2.md"
    assert len(shelf.snapshot()) == 9


def test_a_set_of_the_same_name_takes_the_place_of_another(shelf: Shelf, tmp_path: Path) -> None:
    first, other = beir_folder(tmp_path / "one" / "tiny"), beir_folder(tmp_path / "other" / "tiny")
    evaluated(shelf, first)
    shelf.embedder.embedded.clear()
    evaluated(shelf, other)  # a copy
    assert shelf.embedder.embedded == []
    rewritten(other, without="d8")
    assert evaluated(shelf, other).queries == 3
    assert len(shelf.snapshot()) == 9


def test_a_set_that_was_moved_and_changed_keeps_its_place(shelf: Shelf, tmp_path: Path) -> None:
    judged = beir_folder(tmp_path / "one" / "tiny")
    evaluated(shelf, judged)
    moved = tmp_path / "moved" / "tiny"
    moved.parent.mkdir()
    judged.rename(moved)
    rewritten(moved, without="d8")
    evaluated(shelf, moved)
    assert len(shelf.snapshot()) == 9


@pytest.mark.parametrize(("content", "why"), [("", ""), ("{\n", r" \(corpus\.jsonl:1: not a line of JSON\)")])
def test_a_corpus_without_documents_is_bad_data(shelf: Shelf, content: str, why: str, judged: Path) -> None:
    (judged / "corpus.jsonl").write_text(content)
    with pytest.raises(BadData, match=rf"corpus\.jsonl has no document{why}: each line must be a JSON object"):
        evaluated(shelf, judged)
    assert not shelf.settings.library.exists()


def test_a_document_that_is_judged_and_not_there_is_told_of(
    shelf: Shelf, caplog: pytest.LogCaptureFixture, judged: Path
) -> None:
    with caplog.at_level(logging.WARNING):
        evaluated(shelf, judged)
    assert "1 judged document is not in the corpus" in caplog.text
    assert "ghost" in caplog.text


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ({"doc": "kalp.md"}, "no: there is no document kalp.md; nearest: kelp.md"),
        ({"doc": "kelp.md", "section": "Sone"}, "no: kelp.md has no section 'Sone'; nearest: Some"),
        (
            {"doc": "kelp.md", "line_start": 90, "line_end": 91},
            "no: kelp.md has no passage with lines 90 to 91: its last line is 9",
        ),
        ({"doc": "kelp.md", "chunk": "0" * 16}, "no: kelp.md has no chunk 0000000000000000; nearest: "),
    ],
)
def test_gold_that_does_not_exist_is_an_error_with_the_nearest_match(
    book: Shelf, tmp_path: Path, gold: dict[str, object], message: str
) -> None:
    file = write_questions(tmp_path / "bad.json", [{"id": "no", "question": "kelp", "relevant": [gold]}])
    with pytest.raises(BadRequest) as caught:
        evaluated(book, file)
    assert message in str(caught.value)


def test_of_many_missing_places_ten_are_named(book: Shelf, tmp_path: Path) -> None:
    wrong = [{"id": f"n{at}", "question": "kelp", "relevant": [{"doc": f"{at}.md"}]} for at in range(13)]
    with pytest.raises(BadRequest) as caught:
        evaluated(book, write_questions(tmp_path / "bad.json", wrong))
    assert str(caught.value).count("there is no document") == 10
    assert str(caught.value).endswith("and 3 more")


def test_a_judged_set_without_a_corpus_names_documents_of_the_library(book: Shelf, tmp_path: Path) -> None:
    judged = tmp_path / "known"
    (judged / "qrels").mkdir(parents=True)
    (judged / "queries.jsonl").write_text('{"_id": "1", "text": "anchor"}\n')
    (judged / "qrels" / "dev.tsv").write_text("1\tanchor.md\t1\n")
    assert evaluated(book, judged).metrics["ndcg@10"] == 1.0
    (judged / "qrels" / "dev.tsv").write_text("1\tankor.md\t1\n")
    with pytest.raises(BadRequest, match=r"nearest: anchor\.md"):
        evaluated(book, judged)


def test_a_library_without_documents_cannot_be_asked(book: Shelf, three: Path) -> None:
    with pytest.raises(BadRequest, match="ingest the documents first"):
        evaluated(book, three, scope=Scope("other"))


def test_every_kind_of_case_is_asked_in_one_run(book: Shelf, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    write_questions(folder / "a.json", answerable())
    write_questions(folder / "b.json", [{"id": "u", "question": "sourdough", "kind": "off-topic"}])
    selected = {"id": "s", "question": "What is moored?", "selected_text": "The barge is moored at noon."}
    write_questions(folder / "c.json", {"questions": [selected], "draft": True})
    run = evaluated(book, folder, answers=True)
    assert {each.id: each.kind for each in run.questions} == {
        "k": "answerable",
        "a": "answerable",
        "l": "answerable",
        "u": "unanswerable",
        "s": "selected",
    }
    assert all(each.answer is not None and each.refused is not None for each in run.questions)
    assert run.metrics["selected_leaks"] == 0.0
    assert len(by_id(run)["u"].keys() & {"refused", "refusal_accuracy"}) == 2


def test_an_expected_answer_stands_beside_the_one_that_came(book: Shelf, tmp_path: Path) -> None:
    asked = [{**each, "answer": f"Of {each['id']}."} if each["id"] != "a" else each for each in answerable()]
    run = evaluated(book, write_questions(tmp_path / "three.json", asked))
    assert [each.expected_answer for each in run.questions] == ["Of k.", None, "Of l."]


@pytest.fixture
def guarded(book: Shelf) -> Shelf:
    """The book, with a page that only ann may read."""
    text = pages()["kelp.md"]
    book.write("kelp.md", f"---\naccess: owner:ann\n---\n{text}")
    book.ingest()
    return book


@pytest.mark.parametrize(("user", "found"), [("ann", 1.0), ("bob", 0.0)])
def test_questions_are_asked_in_the_name_of_whoever_is_named(
    guarded: Shelf, three: Path, caplog: pytest.LogCaptureFixture, user: str, found: float
) -> None:
    with caplog.at_level(logging.WARNING):
        run = evaluated(guarded, three, answers=True, principal=Principal(user, frozenset({"ops"})))
    assert by_id(run)["k"]["recall@5"] == found
    assert ("1 expected place is hidden from this principal, and will not be found" in caplog.text) is (user == "bob")
    assert (run.settings["user"], run.settings["groups"]) == (user, ["ops"])
    shown = {place.document for each in run.questions for place in each.found}
    assert ("kelp.md" in shown) is (user == "ann")
    said = " ".join(each.answer or "" for each in run.questions)
    assert ("kelp kelp" in said) is (user == "ann")


def test_what_is_hidden_is_no_nearest_match(guarded: Shelf, tmp_path: Path) -> None:
    wrong = [{"id": "no", "question": "kelp", "relevant": [{"doc": "kalp.md"}]}]
    file = write_questions(tmp_path / "bad.json", wrong)
    with pytest.raises(BadRequest) as caught:
        evaluated(guarded, file, principal=Principal("bob"))
    assert "there is no document kalp.md; nearest: " in str(caught.value)
    assert "kelp.md" not in str(caught.value)


def test_progress_is_an_event_for_each_question(book: Shelf, three: Path) -> None:
    events = evaluate(book.settings, three, principal=OWNER, answers=False, open_library=book.library)
    steps = [event for event in events if isinstance(event, Step)]
    assert [(step.task, step.done) for step in steps] == [
        (task, done) for task in ("judging", "timing") for done in range(4)
    ]


def test_an_ablation_leaves_out_one_part_at_a_time(book: Shelf, three: Path) -> None:
    book.with_settings(search=Settings().search)
    rows = ablated(book, three)
    names = [row.name for row in rows]
    assert names[:4] == [EVERYTHING, "without dense", "without words", "without code"]
    assert "without dedup" in names
    assert not {"without rerank", "without late"} & set(names)  # neither is there: no reranker, no vectors of words
    assert names[-1] == "fused by rrf"
    assert rows[0].differences == ()
    assert all(row.differences for row in rows[1:])


def test_an_arm_that_is_left_out_finds_nothing(book: Shelf, three: Path) -> None:
    rows = {row.name: row.run for row in ablated(book, three)}
    assert "words" not in rows["without words"].stages_ms
    assert "dense" not in rows["without dense"].stages_ms
    assert len(rows[EVERYTHING].questions[1].found) == 9  # every passage is somewhere near by meaning
    assert len(rows["without dense"].questions[1].found) == 2  # only two say anchor
    assert rows["without dense"].metrics["recall@1"] == rows[EVERYTHING].metrics["recall@1"]
    assert rows["without words"].settings["search.without"] == ["words"]
    assert "fused by rrf" not in rows  # which everything is already


@pytest.mark.parametrize(("user", "found"), [("ann", 1.0), ("bob", 0.0)])
def test_an_ablation_is_asked_in_the_name_of_whoever_is_named(
    guarded: Shelf, three: Path, caplog: pytest.LogCaptureFixture, user: str, found: float
) -> None:
    with caplog.at_level(logging.WARNING):
        rows = ablated(guarded, three, principal=Principal(user, frozenset({"ops"})))
    assert {by_id(row.run)["k"]["recall@5"] for row in rows} == {found}
    shown = {place.document for row in rows for each in row.run.questions for place in each.found}
    assert ("kelp.md" in shown) is (user == "ann")
    assert all((row.run.settings["user"], row.run.settings["groups"]) == (user, ["ops"]) for row in rows)
    assert ("1 expected place is hidden from this principal" in caplog.text) is (user == "bob")


def test_late_interaction_is_a_part_where_words_have_vectors(tmp_path: Path) -> None:
    shelf = Shelf.holding(tmp_path, pages(), keeps_words=True, search=WORDS_ALONE)
    far = {"id": "far", "question": "unlike everything", "relevant": [{"doc": "kelp.md"}]}
    rows = ablated(shelf, write_questions(tmp_path / "far.json", [far]))
    assert "without late" in [row.name for row in rows]


def test_nothing_can_be_ablated_without_answerable_questions(book: Shelf, tmp_path: Path) -> None:
    file = write_questions(tmp_path / "u.json", [{"id": "u", "question": "sourdough", "kind": "off-topic"}])
    with pytest.raises(BadRequest, match="nothing to rank"):
        ablated(book, file)


def test_a_run_keeps_the_settings_that_are_not_as_they_come(book: Shelf, three: Path) -> None:
    book.settings = replace(book.settings, answer=replace(book.settings.answer, base_url="https://u:secret@host/v1"))
    used = evaluated(book, three).settings
    assert used["search.weights"] == {"words": 1.0}
    assert used["embedding"] == "hash-1"
    assert used["answer.base_url"] == "host/v1"
    assert "library" not in used
    assert json.dumps(dict(used))
