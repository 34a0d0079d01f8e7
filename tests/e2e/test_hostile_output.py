"""Documents, services and terminals that mean harm, or are simply full: what the command writes stays plain."""

import subprocess
import unicodedata
from pathlib import Path

import pytest

from tests.e2e.cli import COMMAND, answering_at, citewise, embedding_at, json_of, reranking_at

CLEAR = "\x1b[2J"
TITLE = "\x1b]0;owned\x07"
C1 = "\x9b31m"  # what ESC [ is in one character
DELETE, BACK, TURN = "\x7f", "\x08\x08\x08", "\u202e"
COMMANDS = (CLEAR, TITLE, C1, DELETE, BACK, TURN)
HOSTILE = "".join(COMMANDS)
FULL = Path("/dev/full")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of one page that tries to command the terminal from everywhere: name, title, heading, text, code."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "docs").mkdir()
    page = (
        f'---\ntitle: "Gauge \\e[2J\\a"\n---\n# Gauge {HOSTILE}\n\n## Reading {HOSTILE}\n\n'
        f"The tide gauge {HOSTILE} is read at noon.\n\n```\nread_gauge() {HOSTILE}\n```\n"
    )
    (folder / "docs" / f"gauge{TURN}.md").write_text(page)
    (folder / "docs" / "nets.md").write_text(f"# Nets\n\nNets {HOSTILE} are mended in winter by the quay.\n")
    assert citewise("ingest", "docs", cwd=folder).returncode == 0
    return folder


def commanding(text: str) -> set[str]:
    """The characters in it that a terminal would obey."""
    return {one for one in text if one not in "\n\t" and (unicodedata.category(one) == "Cc" or one == TURN)}


def test_the_library_really_holds_what_would_command_a_terminal(home: Path) -> None:
    hits = json_of("search", "tide gauge", cwd=home)["hits"]
    assert {"\x1b", "\x9b", TURN} <= commanding("".join(hit["text"] for hit in hits))


@pytest.mark.parametrize(
    "words",
    [
        ("search", "When is the tide gauge read?"),
        ("search", "When is the tide gauge read?", "--explain"),
        ("search", "tide", "--top-k", "1", "--explain"),
        ("ask", "When is the tide gauge read?"),
        ("ask", "When is the tide gauge read?", "--explain"),
        ("ask", "Who won the 2018 football World Cup final?"),
        ("ask", "When is the tide gauge read?", "--selection-file", "docs/nets.md"),
    ],
    ids=" ".join,
)
def test_nothing_in_a_document_commands_the_terminal(home: Path, words: tuple[str, ...]) -> None:
    done = citewise(*words, cwd=home)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert commanding(done.stdout + done.stderr) == set()
    # The anchor of an address keeps the letters, as the site that shows the page does.
    assert not [body for body in ("[2J", ";owned") if body in done.stdout + done.stderr]


def test_what_a_document_says_is_shown_all_the_same(home: Path) -> None:
    shown = citewise("search", "When is the tide gauge read?", cwd=home).stdout
    assert "is read at noon." in shown
    assert "is read at noon." in citewise("ask", "When is the tide gauge read?", cwd=home).stdout


def test_the_name_of_a_selection_s_document_commands_no_terminal(home: Path) -> None:
    (home / "selection.txt").write_text("The tide gauge is read at noon.\n")
    done = citewise(
        *("ask", "When is the tide gauge read?", "--selection-file", "selection.txt"),
        *("--source-document", f"a{CLEAR}.md", "--source-section", f"Reading {HOSTILE}"),
        cwd=home,
    )
    assert commanding(done.stdout + done.stderr) == set()


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "words",
    [
        ("search", "tide"),
        ("search", "tide", "--json"),
        ("search", "tide", "--explain"),
        ("ask", "When is the tide gauge read?"),
        ("ask", "When is the tide gauge read?", "--json"),
        ("status",),
        ("doctor", "--json"),
    ],
    ids=" ".join,
)
def test_output_that_cannot_be_written_is_one_line_and_a_failure(home: Path, words: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [COMMAND, *words], cwd=home, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "citewise: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("place", ["127.0.0.1:9", "[::1", "host:abc"])
def test_doctor_prints_no_password_of_an_address(home: Path, place: str) -> None:
    address = f"http://ann:hunter2@{place}/v1"
    env = {**answering_at(address), **reranking_at(address), **embedding_at(address)}
    for words in (("doctor",), ("doctor", "--json")):
        done = citewise(*words, cwd=home, env=env)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "reranker" in done.stdout
        assert "generator" in done.stdout
        assert "hunter2" not in done.stdout + done.stderr
