"""`citewise eval` as a process: a BEIR folder, question files, thresholds, comparisons, ablations."""

import json
import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from tests.e2e.cli import citewise, error_of, json_of
from tests.judged import beir_folder, write_questions

ROOT = Path(__file__).parents[2]
HANDBOOK = Path(str(files("citewise") / "data" / "handbook"))
HANDBOOK_QUESTIONS = ROOT / "tests" / "data" / "handbook_questions"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with the handbook in `.citewise` and its questions in `questions`."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(HANDBOOK_QUESTIONS, home / "questions")
    done = citewise("ingest", HANDBOOK, cwd=home)
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture(scope="module")
def handbook_run(home: Path) -> Path:
    """A run of all three kinds of questions, kept."""
    done = citewise("eval", "questions", "--out", "all.json", "--worst", "2", cwd=home)
    assert done.returncode == 0, done.stderr
    (home / "all.txt").write_text(done.stdout)
    return home / "all.json"


@pytest.fixture(scope="module")
def search_run(home: Path) -> Path:
    """A run of searches alone, with another fusion."""
    env = {"CITEWISE_SEARCH__FUSION": "rrf"}
    done = citewise("eval", "questions", "--no-answers", "--out", "rrf.json", "--json", cwd=home, env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((home / "rrf.json").read_text())
    return home / "rrf.json"


def test_all_three_kinds_of_questions_are_measured_in_one_run(handbook_run: Path) -> None:
    run = json.loads(handbook_run.read_text())
    metrics = run["metrics"]
    assert run["set"] == "questions"
    assert run["queries"] == len(run["questions"])
    assert {one["kind"] for one in run["questions"]} == {"answerable", "unanswerable", "selected"}
    assert metrics["citation_accuracy"] == 1.0
    assert metrics["selected_leaks"] == 0.0
    assert metrics["recall@5"] >= 0.6
    assert metrics["recall@100"] >= metrics["recall@5"]
    assert metrics["refusal_accuracy"] >= 0.7
    assert 0 < run["latency_ms"]["p50"] <= run["latency_ms"]["p95"] <= run["latency_ms"]["p99"]
    assert {"rankings", "hydrate"} <= run["stages_ms"].keys()
    assert run["settings"]["generator"] == "extractive"
    assert "paraphrase" in run["groups"]


def test_a_person_sees_a_table_and_the_poorest_questions(home: Path, handbook_run: Path) -> None:
    text = (home / "all.txt").read_text()
    assert handbook_run.exists()
    assert "ndcg@10" in text
    assert re.search(r"search, in ms +p50 ", text)
    assert text.count("expected ") <= 2
    assert "worst questions" in text


def test_a_run_without_answers_has_null_where_it_cannot_say(search_run: Path) -> None:
    run = json.loads(search_run.read_text())
    assert run["metrics"]["citation_accuracy"] is None
    assert run["metrics"]["refusal_accuracy"] is None
    assert run["metrics"]["ndcg@10"] > 0
    assert run["settings"]["fusion"] == "rrf"
    assert all(one["answer"] is None for one in run["questions"])


def test_two_runs_are_compared_question_by_question(home: Path, handbook_run: Path, search_run: Path) -> None:
    found = json_of("eval", "compare", search_run, handbook_run, "--worst", "3", cwd=home)
    by_metric = {one["metric"]: one for one in found["differences"]}
    assert by_metric.keys() >= {"ndcg@10", "recall@5", "mrr@10"}
    assert "citation_accuracy" not in by_metric  # one of them did not ask
    one = by_metric["ndcg@10"]
    assert one["change"] == pytest.approx(one["after"] - one["before"], abs=1e-5)
    assert one["interval"][0] <= one["change"] <= one["interval"][1]
    assert 0 < one["p"] <= 1
    assert one["better"] + one["worse"] <= one["questions"]
    assert len(found["changed_most"]) <= 3


def test_a_comparison_names_its_files_and_what_else_is_not_the_same(
    home: Path, handbook_run: Path, search_run: Path
) -> None:
    text = citewise("eval", "compare", "rrf.json", "all.json", cwd=home).stdout
    assert text.startswith("before  rrf.json  questions, ")
    assert "after   all.json  questions, " in text
    heads = text.split("metric ")[1].split("\n")[0]
    assert heads.split()[:2] == ["rrf.json", "all.json"]
    assert "citation_accuracy" in text.split("only all.json has\n")[1].split("\n")[0]
    assert "only rrf.json has" not in text
    rows = [line.strip() for line in text.split("settings that differ")[1].split("\n")]
    assert 'fusion: "rrf", now "minmax"' in rows
    assert 'search.fusion: "rrf", now null' in rows
    assert 'generator: null, now "extractive"' in rows  # searches alone were asked for
    found = json_of("eval", "compare", search_run, handbook_run, cwd=home)
    assert found["files"] == {"before": str(search_run), "after": str(handbook_run)}
    assert found["settings_that_differ"]["generator"] == {"before": None, "after": "extractive"}
    assert "refusal_accuracy" in found["only_after"]
    assert found["only_before"] == []


def test_an_input_that_cannot_be_read_is_no_fault_of_the_output(home: Path) -> None:
    name = "x" * 300  # longer than any file system allows, so that even root gets an error
    assert f"cannot read {name}: file name too long: check the path" in error_of("eval", name, cwd=home, code=2)
    message = error_of("eval", "questions", "--library", name, cwd=home, code=4)
    assert f"cannot use {name}" in message
    assert "check the path" in message


def test_a_run_compared_with_itself_is_the_same(home: Path, handbook_run: Path) -> None:
    done = citewise("eval", "compare", handbook_run, handbook_run, cwd=home)
    assert done.returncode == 0, done.stderr
    assert "same" in done.stdout
    assert "better " in done.stdout  # the column
    assert "changed most" not in done.stdout
    assert "both files are the same run" in done.stderr


def test_runs_without_a_common_question_cannot_be_compared(home: Path, handbook_run: Path) -> None:
    tree = json.loads(handbook_run.read_text())
    for one in tree["questions"]:
        one["id"] = f"other-{one['id']}"
    (home / "other.json").write_text(json.dumps(tree))
    assert "no question in common" in error_of("eval", "compare", handbook_run, "other.json", cwd=home, code=2)
    assert "cannot read" in error_of("eval", "compare", handbook_run, "missing.json", cwd=home, code=2)


def test_runs_of_different_sets_are_compared_with_a_warning(home: Path, handbook_run: Path) -> None:
    tree = json.loads(handbook_run.read_text())
    (home / "renamed.json").write_text(json.dumps({**tree, "set": "other", "unit": "document"}))
    done = citewise("eval", "compare", handbook_run, "renamed.json", cwd=home)
    assert done.returncode == 0
    assert "different sets, 'questions' and 'other'" in done.stderr
    assert "one run judges each passage, the other each document" in done.stderr


def test_a_threshold_that_is_not_reached_fails_the_command(home: Path) -> None:
    words = ("eval", "questions/answerable.json", "--no-answers", "--fail-under")
    failed = citewise(*words, "ndcg@10=1.01", "--json", cwd=home)
    assert failed.returncode == 1
    assert "citewise: ndcg@10 is 0." in failed.stderr
    assert json.loads(failed.stdout)["metrics"]["ndcg@10"] > 0
    unmeasured = citewise(*words, "citation_accuracy=0.5", cwd=home)
    assert unmeasured.returncode == 2
    assert "leave out --no-answers" in unmeasured.stderr
    assert citewise(*words, "ndcg@10=0.1", "--fail-under", "recall@5=0.1", cwd=home).returncode == 0


@pytest.mark.parametrize(
    ("threshold", "said"),
    [
        ("quality=0.5", "there is no metric 'quality'; there are ndcg@5, ndcg@10, "),
        ("ndgc@10=0.5", "there is no metric 'ndgc@10'; did you mean ndcg@10?"),
        ("ndcg@10", "write METRIC=VALUE, such as ndcg@10=0.7"),
        ("0.9", "write METRIC=VALUE, such as ndcg@10=0.7"),
        ("ndcg@10=high", "write METRIC=VALUE"),
        ("ndcg@10=nan", "write METRIC=VALUE"),
    ],
)
def test_a_threshold_that_is_none_is_refused_before_anything_runs(home: Path, threshold: str, said: str) -> None:
    message = error_of("eval", "questions", "--fail-under", threshold, cwd=home, code=2)
    assert f"--fail-under {threshold}: {said}" in message


def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(home: Path) -> None:
    assert "there is no folder" in error_of("eval", "questions", "--out", "no/such/run.json", cwd=home, code=2)
    assert "it is a folder" in error_of("eval", "questions", "--report", "questions", cwd=home, code=2)


def test_what_is_no_set_is_a_bad_request(home: Path) -> None:
    assert "there is no judged set at nowhere" in error_of("eval", "nowhere", cwd=home, code=2)
    assert "an empty path" in error_of("eval", "", cwd=home, code=2)


def test_a_set_that_is_named_like_a_command_is_written_with_its_folder(home: Path) -> None:
    shutil.copyfile(home / "questions" / "unanswerable.json", home / "leaks")
    found = json_of("eval", "./leaks", "--no-answers", cwd=home)
    assert found["set"] == "leaks"
    assert found["metrics"]["ndcg@10"] is None


def test_flags_may_stand_in_front_of_the_set(home: Path) -> None:
    found = json_of("eval", "--no-answers", "--library", ".citewise", "questions/answerable.json", cwd=home)
    assert found["set"] == "answerable"


def test_an_ablation_shows_what_each_part_is_worth(home: Path) -> None:
    few = json.loads((home / "questions" / "answerable.json").read_text())[:4]
    write_questions(home / "few.json", few)
    found = json_of("eval", "ablate", "few.json", cwd=home)
    rows = {row["name"]: row for row in found["ablations"]}
    assert list(rows)[:4] == ["everything", "without dense", "without words", "without code"]
    assert rows["everything"]["against_everything"] == []
    assert {one["metric"] for one in rows["without dense"]["against_everything"]} >= {"ndcg@10", "recall@5"}
    done = citewise("eval", "ablate", "few.json", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "without dense" in done.stdout
    assert "change" in done.stdout


def test_a_project_of_its_own_keeps_a_set_apart(tmp_path: Path) -> None:
    beir_folder(tmp_path / "tiny")
    json_of("eval", "tiny", "--library", "new", "--project", "bench", "--no-answers", cwd=tmp_path)
    scopes = json_of("status", "--library", "new", cwd=tmp_path)["scopes"]
    assert [(one["project"], one["documents"]) for one in scopes] == [("bench", 10)]


def test_a_report_is_one_page(home: Path, handbook_run: Path, search_run: Path) -> None:
    done = citewise("eval", "compare", search_run, handbook_run, "--report", "page.html", cwd=home)
    assert done.returncode == 0, done.stderr
    page = (home / "page.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html")
    assert "<script src" not in page


def test_help_says_how_a_set_is_given(tmp_path: Path) -> None:
    text = citewise("eval", "--help", cwd=tmp_path).stdout
    assert "citewise eval [OPTIONS] SET" in text
    assert "--fail-under METRIC=VALUE" in text
    assert "compare" in text
    assert citewise("eval", cwd=tmp_path).returncode == 2


def test_a_slip_is_told_of_by_the_name_of_the_command_that_was_typed(tmp_path: Path) -> None:
    message = error_of("eval", "set", "--no-such-flag", cwd=tmp_path, code=2)
    assert "Usage: citewise eval [OPTIONS] SET" in message
    assert "Try 'citewise eval --help'" in message
    assert "eval run" not in message


def test_a_poor_question_shows_the_answer_that_its_author_wanted(home: Path) -> None:
    entry = {"id": "q", "question": "Who painted Las Meninas?", "answer": "Diego Velázquez.", "kind": "off-topic"}
    place = {"relevant": [{"doc": "module-1/quiz.md"}]}
    write_questions(home / "painted.json", [{**entry, **place}])
    text = citewise("eval", "painted.json", cwd=home).stdout
    assert "      wanted    Diego Velázquez." in text
    found = json_of("eval", "painted.json", cwd=home)
    assert found["questions"][0]["expected_answer"] == "Diego Velázquez."


def test_a_run_says_over_how_many_answers_citations_were_counted(home: Path, handbook_run: Path) -> None:
    run = json.loads(handbook_run.read_text())
    is_shown = ("answered", "unsure")
    shown = [one for one in run["questions"] if one["outcome"] in is_shown and one["kind"] != "selected"]
    assert run["questions_measured"]["citation_accuracy"] == len(shown)
    assert re.search(rf"citation_accuracy +1\.000 over {len(shown)} questions", (home / "all.txt").read_text())


def test_control_characters_of_a_set_reach_no_terminal(home: Path) -> None:
    entry = {"id": "x\x1b[31mred", "question": "Why is the tide staff calibrated?", "kind": "a\x1b]0;b\x07c"}
    write_questions(home / "hostile.json", [entry])
    done = citewise("eval", "hostile.json", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
