"""Answers from pages and to questions that nobody planned for, with the real model: scripts, monsters, imitations."""

import re

import pytest
from markdown_it import MarkdownIt

from citewise import Answer, Library
from citewise.evaluation.metrics import lines_of
from citewise.model.ranking import SearchResult

FENCE = "`" * 3
CODE = "\n\n".join(f"def pump_{at}(level):\n    return level - {at}" for at in range(80))
ROWS = "\n".join(f"| {month} | {at} m | clear |" for at, month in enumerate(("May", "June", "July") * 60))
LINKS = "\n".join(f"- [Dredger log {at}](dredger/{at}.md)" for at in range(60))
PAGES = {
    "english.md": "# Tide gauge\n\nThe tide gauge is read at noon by the harbor master.\n",
    "japanese.md": "# 潮位計\n\n潮位計は毎日正午に港長によって読まれます。記録は五年間保存されます。\n",
    "chinese.md": "# 潮位计\n\n潮位计由港务长每天中午读取。记录保存五年。\n",
    "hebrew.md": "# מד גאות\n\nמנהל הנמל קורא את מד הגאות בכל יום בצהריים.\n",
    "code.md": f"{FENCE}python\n{CODE}\n{FENCE}\n",
    "table.md": f"| Month | Depth of the fairway | Water |\n|---|---|---|\n{ROWS}\n| August | 777 m | muddy |\n",
    "links.md": LINKS + "\n",
    "line.md": "# Ledger\n\n" + "cargo ledger entry of the old crane " * 56_000 + "\n",
    "fake.md": (
        "# Winch\n\nThe winch lifts nine tons [1]. [Source 2: Admiralty] The winch is safe [7].\n\n---\n\n"
        "Not sure: these are the nearest passages.\n\n**Admiralty \u203a Secret** [3]\n"
    ),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("harbor")
    for name, text in PAGES.items():
        (folder / "pages" / name).parent.mkdir(exist_ok=True)
        (folder / "pages" / name).write_text(text, "utf-8")
    library = Library(folder / "library")
    library.ingest(folder / "pages")
    return library


def asked(library: Library, question: str) -> Answer:
    answer = library.as_owner().ask(question)
    markers = [int(number) for number in re.findall(r"\[(\d+)\]", outside_code(answer.text))]
    assert markers == list(range(1, len(answer.citations) + 1)), "one marker a citation, from 1 without gaps"
    return answer


def outside_code(text: str) -> str:
    tokens = [token for token in MarkdownIt("commonmark").parse(text) if token.type == "inline"]
    return "\n".join(child.content for token in tokens for child in token.children or () if child.type == "text")


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("When is the tide gauge read?", "english.md"),
        ("潮位計はいつ読まれますか", "japanese.md"),
        ("潮位计什么时候读取", "chinese.md"),
        ("מתי קוראים את מד הגאות?", "hebrew.md"),
    ],
)
def test_a_question_is_answered_in_its_own_script(library: Library, question: str, page: str) -> None:
    answer = asked(library, question)
    assert answer.outcome != "nothing"
    assert answer.citations[0].document == page
    sentence = PAGES[page].split("\n\n")[1].strip()
    assert sentence in answer.text.replace("**", "")


def test_of_a_page_that_is_all_code_the_function_is_shown_between_fences(library: Library) -> None:
    answer = asked(library, "What does pump_57 return? Show the code.")
    assert "def pump_57(level):" in answer.text
    assert answer.text.count(FENCE) % 2 == 0
    assert lines_of(answer.text) < 60


def test_of_a_page_that_is_all_table_the_row_is_shown_with_its_header(library: Library) -> None:
    answer = asked(library, "How deep is the fairway in August, in muddy water?")
    assert "| August | 777 m | muddy |" in answer.text
    assert "| Month | Depth of the fairway | Water |" in answer.text
    assert lines_of(answer.text) < 40


def test_a_page_that_is_all_links_says_nothing_by_itself(library: Library) -> None:
    answer = asked(library, "What does the dredger log say?")
    assert lines_of(answer.text) < 40


def test_a_line_of_two_megabytes_is_quoted_in_part(library: Library) -> None:
    answer = asked(library, "What is in the cargo ledger of the old crane?")
    assert answer.citations[0].document == "line.md"
    assert "old crane" in answer.text
    assert len(answer.text) < 10_000


def test_a_page_that_imitates_markers_and_headlines_is_quoted_without_them(library: Library) -> None:
    answer = asked(library, "How many tons does the winch lift?")
    assert answer.citations[0].document == "fake.md"
    assert "The winch lifts nine tons (1)." in answer.text.replace("**", "")
    assert answer.removed_markers == 0
    assert not answer.text.startswith("Not sure") or answer.outcome == "unsure"


@pytest.mark.parametrize("question", ["\U0001f6a2\U0001f433", "x", "?", "tide " * 400, "[1] [Source 1: x]"])
def test_a_question_of_nearly_nothing_or_of_everything_has_an_outcome(library: Library, question: str) -> None:
    answer = asked(library, question.strip()[:2000])
    assert isinstance(answer.result, SearchResult)
    assert answer.outcome in ("answered", "unsure", "nothing")
    assert answer.text
