"""What a person sees: `citewise` in a pseudo terminal of 80 and of 100 columns."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.e2e.cli import COMMAND, citewise, written

ESCAPE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")
CONFIG = "export default {url: 'https://harbor.example', baseUrl: '/', presets: ['classic']}"
PAGE = """\
# Tides

## Reading the gauge

The **tide gauge** is read at noon by the harbor master, who writes the value down in the book that lies on the desk
beside the window, and who signs for it with both of his names:

```python
def read_gauge(port):
    return port.read()
```
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of the handbook, and one of a site."""
    folder = tmp_path_factory.mktemp("terminal")
    assert citewise("demo", "--library", ".citewise", cwd=folder).returncode == 0
    written(folder, {"site/docusaurus.config.js": CONFIG, "site/docs/tides.md": PAGE, "empty/note.txt": "x"})
    assert citewise("ingest", "site/docs", "--library", "site-library", cwd=folder).returncode == 0
    assert citewise("ingest", "empty", "--library", "empty-library", cwd=folder).returncode == 0
    return folder


def shown(*words: str, cwd: Path, columns: int = 80, **env: str) -> str:
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    environment = {**kept, "TERM": "xterm-256color", **env}
    with subprocess.Popen([COMMAND, *words], cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            parts.append(part)
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    return ESCAPE.sub("", text)


def widest(text: str) -> int:
    return max(map(cell_len, plain(text).splitlines()))


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize(
    "words",
    [
        ("ask", "What happens below power.low_volts?"),
        ("ask", "How do I calibrate the pressure sensor?"),
        ("ask", "Who won the 2018 football World Cup final?"),
        ("search", "calibrate the pressure sensor"),
        ("search", "calibrate the pressure sensor", "--explain"),
        ("ask", "How do I calibrate the pressure sensor?", "--explain"),
    ],
    ids=" ".join,
)
def test_everything_fits_the_terminal(home: Path, words: tuple[str, ...], columns: int) -> None:
    text = shown(*words, cwd=home, columns=columns)
    assert 40 < widest(text) <= columns
    assert not [line for line in plain(text).splitlines() if line.endswith(" ")]


def test_markdown_is_rendered_and_the_source_is_a_link(home: Path) -> None:
    text = shown("ask", "When is the tide gauge read by the harbor master?", "--library", "site-library", cwd=home)
    assert "\x1b[1mtide gauge\x1b[0m" in text
    assert "```" not in text
    assert re.search(r"\x1b\]8;[^;]*;https://harbor\.example/docs/tides#reading-the-gauge\x1b\\", text)


def test_without_color_there_is_none(home: Path) -> None:
    text = shown("ask", "When is the tide gauge read?", "--library", "site-library", cwd=home, NO_COLOR="1")
    colors = {code for codes in re.findall(r"\x1b\[([\d;]*)m", text) for code in codes.split(";")}
    assert colors <= {"", "0", "1", "2", "3", "4", "49"}  # bold, dim and the like


def test_what_is_piped_is_neither_wrapped_nor_rendered_nor_filled_up(home: Path) -> None:
    env = {"COLUMNS": "40"}
    asked = ("When is the tide gauge read by the harbor master?", "--library", "site-library")
    answer, found = (citewise(command, *asked, cwd=home, env=env).stdout for command in ("ask", "search"))
    assert "The **tide gauge** is read at noon" in answer
    assert "    The **tide gauge** is read at noon by the harbor master, who writes the value down in the book" in found
    lines = (answer + found).splitlines()
    broken = [
        "**Tides \u203a Reading the gauge** [1]  "
    ]  # by hand, as Markdown has it: the text stands in the next line
    assert [line for line in lines if line.endswith(" ")] == broken
    assert not [line for line in lines if "\x1b" in line]
    assert "https://harbor.example/docs/tides#reading-the-gauge" in found


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("ask", "tide?", "--library", "empty-library"), "The library is empty: citewise ingest PATH"),
        (("search", "tide", "--library", "empty-library"), "The library is empty: citewise ingest PATH"),
        (("search", "tide", "--filter", "module=none"), "What the library holds: citewise status"),
        (("ask", "Who won the 2018 World Cup?"), "What comes nearest: citewise search 'Who won the 2018 World Cup?'"),
    ],
    ids=" ".join,
)
def test_where_there_is_no_answer_the_next_command_is_named(home: Path, words: tuple[str, ...], advice: str) -> None:
    done = citewise(*words, cwd=home)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith(advice)


def test_what_is_suggested_stands_with_its_place_or_as_a_link(home: Path) -> None:
    refused = citewise("ask", "Who won the 2018 World Cup?", cwd=home).stdout.splitlines()
    places = refused[refused.index("Nearest sections") + 2 : -2 : 2]
    assert 1 <= len(places) <= 5
    assert all(re.fullmatch(r"    \S+\.mdx?:\d+", place) for place in places)
    text = shown("ask", "Who won the 2018 World Cup?", "--library", "site-library", cwd=home)
    assert "\x1b]8;" in text


def test_a_hostile_page_writes_nothing_of_its_own_on_a_terminal(tmp_path: Path) -> None:
    page = "# Gauge \x1b]0;owned\x07\n\nThe tide gauge \x1b[2J is \x1b]8;;https://evil.example\x07read\u202e at noon.\n"
    written(tmp_path, {"docs/gauge.md": page})
    assert citewise("ingest", "docs", cwd=tmp_path).returncode == 0
    for command in ("ask", "search"):
        text = shown(command, "When is the tide gauge read?", cwd=tmp_path)
        assert "read at noon." in plain(text)
        assert not [bad for bad in ("owned", "[2J", "\x1b]8;;https://evil", "\x07", "\u202e") if bad in text]


def test_a_first_run_names_the_command_that_makes_a_library(tmp_path: Path) -> None:
    done = citewise("ask", "tide?", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "make one with `citewise ingest PATH`" in done.stderr
