"""A narrower rule stays until somebody widens it in words: moves, names, links, rules above, and files that fail."""

import os
import shutil
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from citewise import Library, Principal, Scope, Settings
from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.errors import BadRequest
from citewise.ingest.moves import MAX_HOLDERS
from citewise.model.document import KnownDocument
from citewise.model.report import FileDone, IngestReport
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.fakes.formats import MemorySource

ZED, HR = Principal("zed"), Principal("eve", frozenset({"hr"}))
SALARIES = "# Salaries\n\nThe salary of the harbor master is a secret.\n\n## Others\n\nThe salary of the clerk too.\n"
OPEN = "# Open\n\nThe gate opens at noon.\n"


class Home:
    """A folder with sources and a library, and who sees what of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.library_folder = folder / ".citewise"
        self.ingest_settings: dict[str, Any] = {}

    def write(self, path: str, text: str = SALARIES) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def ingest(self, path: str, **options: Any) -> IngestReport:
        with self.library() as library:
            return library.ingest(self.folder / path, **options)

    def library(self) -> Library:
        chosen = Settings(library=self.library_folder).changed(ingest=self.ingest_settings)
        return Library(settings=chosen, embedder=HashEmbedder(), token_counter=WordCounter())

    def seen(self, principal: Principal = ZED, question: str = "salary") -> set[str]:
        with self.library() as library:
            found = library.as_principal(principal).search(question, top_k=50)
        return {each.passage.document for each in found.findings if question in each.passage.text}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def reasons(report: IngestReport) -> dict[str, str]:
    return {note.path: note.reason for note in report.access}


@pytest.fixture
def closed_part(home: Home) -> Home:
    """A source with an open page, and a folder that is for a group."""
    home.write("s/open.md", OPEN)
    home.write("s/hr/salaries.md")
    home.ingest("s")
    home.ingest("s/hr", access="group:hr")
    assert home.seen() == set()
    assert home.seen(HR) == {"hr/salaries.md"}
    return home


def test_a_folder_above_is_ingested_later(home: Home) -> None:
    home.write("s/hr/salaries.md")
    home.ingest("s/hr", access="group:hr")
    report = home.ingest("s")
    assert home.seen() == set()
    assert reasons(report) == {"s/hr/salaries.md": "the same file as salaries.md, which is for group:hr"}
    home.ingest("s/hr", access="group:board", widen=True)  # the copy in the folder above follows
    assert home.seen(HR) == set()


def test_a_folder_above_is_closed_later_and_the_source_below_with_it(home: Home) -> None:
    home.write("s/hr/salaries.md")
    home.ingest("s/hr")
    home.ingest("s", access="group:hr")
    assert home.seen() == set()
    assert home.ingest("s/hr").unchanged == 1
    assert home.seen() == set()


@pytest.mark.parametrize("name", [".", None])
def test_a_source_is_moved(home: Home, name: str | None) -> None:
    file = home.write("hr/salaries.md")
    home.ingest("hr", access="group:hr")
    shutil.move(file.parent, home.folder / "people")
    home.write("people/new.md", "# New\n\nThe salary of the pilot.\n")
    report = home.ingest("people", name=name)
    assert home.seen() == set()
    mount = "" if name else "people/"
    assert home.seen(HR) >= {f"{mount}salaries.md", f"{mount}new.md"}
    if name is None:
        assert f"moved here from {home.folder}/hr" in reasons(report)["people/salaries.md"]


def test_the_library_is_moved(home: Home) -> None:
    home.write("hr/salaries.md")
    home.ingest("hr", access="group:hr")
    (home.folder / "sub").mkdir()
    home.library_folder = Path(shutil.move(home.library_folder, home.folder / "sub" / "library"))
    home.ingest("hr")
    assert home.seen() == set()
    assert home.seen(HR) == {"salaries.md"}


@pytest.mark.parametrize("path", ["hr", "hr/salaries.md"])
def test_a_second_name_is_given(home: Home, path: str) -> None:
    home.write("hr/salaries.md")
    home.ingest("hr", access="group:hr")
    home.ingest(path, name="extra")
    assert home.seen() == set()
    assert home.seen(HR) == {"salaries.md", "extra/salaries.md"}
    home.ingest(path, name="extra")
    assert home.seen() == set()


def test_a_name_of_a_source_that_is_there_is_refused(home: Home) -> None:
    home.write("first/open.md", OPEN)
    home.write("hr/salaries.md")
    home.write("other/other.md", OPEN)
    home.ingest("first")
    home.ingest("hr", access="group:hr")
    with pytest.raises(BadRequest, match="still there"):
        home.ingest("other", name="hr")
    assert home.seen(HR) == {"hr/salaries.md"}


@pytest.mark.parametrize("runs", [1, 2])
def test_a_closed_folder_is_renamed(closed_part: Home, runs: int) -> None:
    home = closed_part
    shutil.move(home.folder / "s/hr", home.folder / "s/people")
    home.write("s/people/a-new.md", "# New\n\nThe salary of the pilot.\n")
    for _ in range(runs):
        report = home.ingest("s")
        assert home.seen() == set()
        assert home.seen(HR) == {"people/salaries.md", "people/a-new.md"}
    assert reasons(report).keys() == {"people/salaries.md", "people/a-new.md"}
    home.ingest("s", access="project", widen=True)  # of all: what is held in a folder stays
    assert home.seen() == set()
    home.ingest("s/people", access="project", widen=True)
    assert home.seen() == {"people/salaries.md", "people/a-new.md"}
    home.ingest("s")
    assert home.seen() == {"people/salaries.md", "people/a-new.md"}


def test_a_renamed_folder_is_widened_at_once(closed_part: Home) -> None:
    home = closed_part
    shutil.move(home.folder / "s/hr", home.folder / "s/people")
    home.ingest("s/people", access="project", widen=True)
    assert home.seen() == {"people/salaries.md"}


@pytest.mark.parametrize("text", [SALARIES, SALARIES + "\n## More\n\nA new section.\n"])
def test_a_closed_file_is_renamed(home: Home, text: str) -> None:
    home.write("s/open.md", OPEN)
    home.write("s/salaries.md")
    home.ingest("s")
    home.ingest("s/salaries.md", access="group:hr")
    (home.folder / "s/salaries.md").unlink()
    home.write("s/salaries-2026.md", text)
    report = home.ingest("s")
    assert home.seen() == set()
    assert home.seen(HR) == {"salaries-2026.md"}
    assert reasons(report).keys() == {"salaries-2026.md"}
    assert home.ingest("s").unchanged == 2
    assert home.seen() == set()


@pytest.mark.parametrize("is_copied_first", [True, False])
def test_a_closed_file_is_moved_in_two_runs(closed_part: Home, *, is_copied_first: bool) -> None:
    home = closed_part
    if is_copied_first:
        home.write("s/copy.md")
        home.ingest("s")
        (home.folder / "s/hr/salaries.md").unlink()
    else:
        (home.folder / "s/hr/salaries.md").unlink()
        home.ingest("s", prune=True)
        home.write("s/copy.md")
    report = home.ingest("s", prune=True)
    assert home.seen() == set()
    assert home.seen(HR) == {"copy.md"}
    assert "which is gone" in reasons(report)["copy.md"]
    assert home.ingest("s").unchanged == 2
    assert home.seen() == set()


def test_a_closed_file_takes_the_place_of_an_open_one(closed_part: Home) -> None:
    home = closed_part
    shutil.move(home.folder / "s/hr/salaries.md", home.folder / "s/open.md")
    home.ingest("s", prune=True)
    assert home.seen() == set()


def test_a_closed_file_is_moved_to_another_source(closed_part: Home) -> None:
    home = closed_part
    home.write("pub/open.md", OPEN)
    home.ingest("pub", access="public")
    shutil.move(home.folder / "s/hr/salaries.md", home.folder / "pub/salaries.md")
    home.ingest("pub")
    assert home.seen() == set()
    home.ingest("s", prune=True)
    assert home.seen() == set()
    assert home.seen(HR) == {"pub/salaries.md"}


@pytest.mark.parametrize("kind", ["symbolic", "hard", "hard, in another source"])
def test_a_link_has_the_rule_of_its_target(closed_part: Home, kind: str) -> None:
    home = closed_part
    link = home.folder / ("pub/link.md" if "another" in kind else "s/pub/link.md")
    link.parent.mkdir()
    if kind == "symbolic":
        link.symlink_to("../hr/salaries.md")
    else:
        os.link(home.folder / "s/hr/salaries.md", link)
    folder = "pub" if "another" in kind else "s"
    report = home.ingest(folder)
    assert home.seen() == set()
    assert "pub/link.md" in home.seen(HR)
    assert "the same file as hr/salaries.md" in reasons(report)["pub/link.md"]
    if folder == "s":
        home.ingest("s/hr", access="owner:boss")  # and it follows
        assert home.seen(HR) == set()


@pytest.mark.parametrize("damage", [b"a\0b", b"\xff\xfe text", b"x" * 11_000_000, b"---\naccess: [group\n---\n# A\n"])
def test_a_rule_reaches_a_page_that_cannot_be_read(home: Home, damage: bytes) -> None:
    file = home.write("s/salaries.md")
    home.ingest("s")
    assert home.seen() == {"salaries.md"}
    file.write_bytes(damage)
    home.ingest("s", access="group:hr")
    assert home.seen() == set()
    assert home.seen(HR) == {"salaries.md"}


def test_a_rule_above_never_drops_a_stricter_one_below(closed_part: Home) -> None:
    home = closed_part
    report = home.ingest("s", access="project")
    assert home.seen() == set()
    assert "group:hr" in reasons(report)["hr/salaries.md"]
    home.ingest("s", access="public", widen=True)
    assert home.seen() == set()
    assert home.seen(Principal(), "gate") == {"open.md"}


def test_a_rule_can_only_narrow_until_it_is_widened(home: Home) -> None:
    home.write("s/salaries.md")
    home.ingest("s", access="group:hr")
    report = home.ingest("s", access="project")
    assert home.seen() == set()
    assert reasons(report).keys() == {"salaries.md"}
    home.ingest("s", access="project", widen=True)
    assert home.seen() == {"salaries.md"}
    home.ingest("s", access="group:hr")
    assert home.seen() == set()
    with pytest.raises(BadRequest, match="--access RULE --widen"):
        home.ingest("s", widen=True)


def test_of_two_rules_that_share_nobody_none_is_guessed(home: Home) -> None:
    home.write("s/salaries.md")
    home.ingest("s", access="group:hr")
    report = home.ingest("s", access="group:ops")
    assert home.seen(HR) == home.seen(Principal("bob", frozenset({"ops"}))) == set()
    (note,) = report.access
    assert (note.said, note.access) == ("group:ops", "nobody but the owner")


@pytest.mark.parametrize(("own", "said"), [("public", "group:hr"), ("project", "group:hr"), ("public", "project")])
def test_a_page_can_only_narrow_and_is_named_if_it_asks_for_more(home: Home, own: str, said: str) -> None:
    home.write("s/salaries.md", f"---\naccess: {own}\n---\n\n{SALARIES}")
    report = home.ingest("s", access=said)
    assert home.seen(Principal()) == set()
    assert "can only narrow" in reasons(report)["salaries.md"]


def test_a_page_that_no_longer_closes_itself_stays_closed(home: Home) -> None:
    file = home.write("s/salaries.md", f"---\naccess: group:hr\n---\n\n{SALARIES}")
    report = home.ingest("s")
    assert reasons(report) == {"salaries.md": "narrowed by its own access:"}
    file.write_text(SALARIES)
    report = home.ingest("s")
    assert home.seen() == set()
    assert "it was for group:hr before" in reasons(report)["salaries.md"]
    home.ingest("s/salaries.md", access="project", widen=True)
    assert home.seen() == {"salaries.md"}
    home.ingest("s")
    assert home.seen() == {"salaries.md"}


def test_patterns_of_the_settings_are_remembered(home: Home) -> None:
    home.write("s/hr/salaries.md")
    home.write("s/pub/open.md", OPEN)
    home.ingest_settings = {"access_by_path": {"hr/**": ("group:hr",), "pub/**": ("public",)}}
    home.ingest("s")
    home.ingest_settings = {}
    home.write("s/hr/more.md", "# More\n\nAnother salary.\n")
    home.ingest("s")
    assert home.seen() == set()
    assert home.seen(Principal(), "gate") == {"pub/open.md"}
    home.ingest_settings = {"access_by_path": {"**": ("project",)}}  # hr/** still narrows, pub/** opens nothing
    home.ingest("s")
    assert home.seen() == set()
    assert home.seen(Principal(), "gate") == set()
    home.ingest_settings = {"access_by_path": {"hr/**": ("project",)}}  # in words
    home.ingest("s")
    assert home.seen() == {"hr/salaries.md", "hr/more.md"}


def test_the_same_command_again_changes_nothing(closed_part: Home) -> None:
    home = closed_part
    home.ingest_settings = {"access_by_path": {"open.md": ("public",)}}
    for _ in range(3):
        home.ingest("s", access="project")
        assert home.seen(Principal(), "gate") == set()  # --access came later, and is narrower
        assert home.seen() == set()
    with home.library() as library:
        view = library.as_owner()
        before = [(page.path, page.access) for page in view.documents()]
        home.ingest("s", access="project")
        assert before == [(page.path, page.access) for page in view.documents()]


def test_a_closed_source_inside_an_open_one_is_renamed(home: Home) -> None:
    home.write("s/open.md", OPEN)
    home.write("s/hr/salaries.md")
    home.ingest("s/hr", access="group:hr")
    home.ingest("s")
    shutil.move(home.folder / "s/hr", home.folder / "s/people")
    home.write("s/people/a-new.md", "# New\n\nThe salary of the pilot.\n")
    home.ingest("s")
    assert home.seen() == set()
    assert "s/people/a-new.md" in home.seen(HR)


def test_a_closed_file_is_copied_to_a_part_that_was_widened_and_then_deleted(closed_part: Home) -> None:
    home = closed_part
    home.write("s/pub/open.md", OPEN)
    home.ingest("s/pub", access="public", widen=True)
    home.write("s/pub/copy.md")
    home.ingest("s")
    assert home.seen(Principal()) == {"pub/copy.md"}  # whoever could read it made a copy
    (home.folder / "s/hr/salaries.md").unlink()
    home.ingest("s")
    assert home.seen() == set()
    home.ingest("s/pub/copy.md", access="public", widen=True)
    assert home.seen(Principal()) == {"pub/copy.md"}


def test_an_item_of_a_source_of_your_own_is_moved(home: Home) -> None:
    home.ingest_settings = {"access_by_path": {"hr/": ("group:hr",)}}
    with home.library() as library:
        for folder in ("hr", "pub"):
            items = {
                f"{folder}/salaries.md": ("text/markdown", SALARIES.encode()),
                "open.md": ("text/markdown", b"# A"),
            }
            library.ingest_source(MemorySource(items), name="notes")
    assert home.seen() == set()
    assert home.seen(HR) == {"notes/pub/salaries.md"}


def test_a_file_in_a_moved_folder_is_widened_alone(closed_part: Home) -> None:
    home = closed_part
    home.write("s/hr/plans.md", "# Plans\n\nThe salary of the pilot.\n")
    home.ingest("s")
    shutil.move(home.folder / "s/hr", home.folder / "s/people")
    home.ingest("s")
    assert home.seen() == set()
    home.ingest("s/people/plans.md", access="project", widen=True)
    assert home.seen() == {"people/plans.md"}
    home.ingest("s")
    assert home.seen() == {"people/plans.md"}


def test_a_rule_reaches_a_link_in_a_source_around_it(home: Home) -> None:
    home.write("a/s/salaries.md")
    home.write("a/pub/open.md", OPEN)
    (home.folder / "a/pub/link.md").symlink_to("../s/salaries.md")
    home.ingest("a")
    home.ingest("a/s", name="inner")
    assert "pub/link.md" in home.seen()
    home.ingest("a/s", name="inner", access="group:hr")
    assert home.seen() == set()


def test_a_known_page_is_replaced_by_a_hard_link_to_a_closed_one_elsewhere(closed_part: Home) -> None:
    home = closed_part
    file = home.write("pub/open.md", OPEN)
    home.ingest("pub", access="public")
    file.unlink()
    os.link(home.folder / "s/hr/salaries.md", file)
    home.ingest("pub")
    assert home.seen() == set()
    home.ingest("s/hr", access="project", widen=True)
    home.ingest("pub/open.md", access="project", widen=True)
    assert "pub/open.md" in home.seen()


def test_a_link_in_a_new_source_around_others_is_for_no_more_than_its_target(home: Home) -> None:
    home.write("a/s/salaries.md")
    home.ingest("a/s")
    home.write("a/pub/open.md", OPEN)
    (home.folder / "a/pub/link.md").symlink_to("../s/salaries.md")
    home.ingest("a", access="public")
    assert home.seen(Principal()) == set()


def test_a_new_pattern_is_not_reported_as_a_rule_that_reached_nothing(home: Home) -> None:
    home.write("s/hr/salaries.md")
    home.ingest("s", access="owner:ann")
    home.ingest_settings = {"access_by_path": {"hr/**": ("group:hr",)}}
    report = home.ingest("s", access="owner:ann")  # said again
    assert home.seen(HR) == {"hr/salaries.md"}
    assert all(note.is_reached for note in report.access)


def test_text_of_two_pages_that_are_gone_is_for_the_readers_of_both(closed_part: Home) -> None:
    """One had just this text, and the closed one half of it."""
    home, text = closed_part, SALARIES + "\n## More\n\nA new section.\n"
    home.write("t/copy.md", text)
    home.ingest("t")
    assert home.seen() == {"t/copy.md"}
    (home.folder / "s/hr/salaries.md").unlink()
    shutil.move(home.folder / "t", home.folder / "u")
    home.ingest("u")
    assert "u/copy.md" not in home.seen()


@pytest.mark.parametrize("left", ["link", "link to the folder", "note", "another page", "hard link"])
@pytest.mark.parametrize("to", ["s", "other"])
def test_a_closed_page_is_moved_while_something_stays_in_its_place(closed_part: Home, left: str, to: str) -> None:
    home, old = closed_part, closed_part.folder / "s/hr/salaries.md"
    home.write("other/open.md", OPEN)
    home.ingest("other")
    new = home.folder / to / "a/moved.md" if left != "link to the folder" else home.folder / to / "a/salaries.md"
    new.parent.mkdir()
    shutil.move(old, new)
    if left == "link":
        old.symlink_to(os.path.relpath(new, old.parent))
    elif left == "link to the folder":
        old.parent.rmdir()
        old.parent.symlink_to(os.path.relpath(new.parent, old.parent.parent))
    elif left == "hard link":
        os.link(new, old)
    else:
        home.write("s/hr/salaries.md", "# Moved\n\nIt is elsewhere.\n" if left == "note" else OPEN)
    for folder in (to, to, "s", to):
        home.ingest(folder, prune=True)
        assert home.seen() == set()
    assert {path for path in home.seen(HR) if "a/" in path}


def test_a_copy_is_closed_when_the_original_is_replaced_by_another_page(closed_part: Home) -> None:
    home = closed_part
    home.write("s/copy.md")
    home.ingest("s")
    assert home.seen() == {"copy.md"}
    home.write("s/hr/salaries.md", "# Moved\n\nIt is elsewhere.\n")
    report = home.ingest("s")
    assert home.seen() == set()
    assert "copy.md" in reasons(report)
    assert home.seen(HR) == {"copy.md"}


def test_a_copy_of_a_page_that_is_edited_stays_open(closed_part: Home) -> None:
    home = closed_part
    home.write("s/copy.md")
    home.write("s/hr/salaries.md", SALARIES + "\n## More\n\nA new section.\n")
    home.ingest("s")
    assert home.seen() == {"copy.md"}


def test_a_pattern_that_was_known_or_a_first_rule_opens_no_text_that_was_closed(home: Home) -> None:
    home.write("hr/salaries.md")
    home.ingest_settings = {"access_by_path": {"people/**": ("project",)}}
    home.ingest("hr", access="group:hr")
    assert home.seen() == set()
    shutil.move(home.folder / "hr", home.folder / "people")
    home.ingest("people/salaries.md", access="project")
    home.ingest("people", access="project")
    assert home.seen() == set()


@pytest.mark.parametrize("pattern", ["", "hr/**"])
def test_a_folder_is_moved_among_many_new_files(home: Home, pattern: str) -> None:
    home.write("s/open.md", OPEN)
    home.write("s/hr/salaries.md")
    home.write("s/hr/plans.md", "# Plans\n\nWe plan.\n")
    home.ingest_settings = {"access_by_path": {pattern: ("group:hr",)}} if pattern else {}
    home.ingest("s")
    if not pattern:
        home.ingest("s/hr", access="group:hr")
    shutil.move(home.folder / "s/hr", home.folder / "s/people")
    for number in range(230):
        home.write(f"s/a/{number}.md", f"# Page {number}\n\nThe number {number}.\n")
    home.write("s/people/a-new.md", "# New\n\nThe salary of the pilot.\n")
    home.ingest("s")
    assert home.seen() == set()
    assert home.seen(HR) == {"people/salaries.md", "people/a-new.md"}
    assert home.seen(ZED, "number")


def test_the_rule_of_a_moved_folder_outlives_a_run_that_stops(closed_part: Home) -> None:
    home = closed_part
    shutil.move(home.folder / "s/hr", home.folder / "s/people")
    with home.library() as library:
        events = library.ingest_events(home.folder / "s")
        next(event for event in events if isinstance(event, FileDone))
        del events
    (home.folder / "s/people/salaries.md").unlink()
    home.write("s/people/a-new.md", "# New\n\nThe salary of the pilot.\n")
    home.ingest("s")
    assert home.seen() == set()


def test_to_widen_a_link_is_refused(closed_part: Home) -> None:
    home = closed_part
    (home.folder / "s/pub").mkdir()
    (home.folder / "s/pub/link.md").symlink_to("../hr/salaries.md")
    (home.folder / "s/folder").symlink_to("hr")
    for path in ("s/pub/link.md", "s/folder", "s/folder/salaries.md"):
        with pytest.raises(BadRequest, match="link"):
            home.ingest(path, access="public", widen=True)
    assert home.seen() == set()


def test_a_rule_reaches_a_hard_link_in_another_source(home: Home) -> None:
    home.write("s/hr/salaries.md")
    home.write("pub/open.md", OPEN)
    os.link(home.folder / "s/hr/salaries.md", home.folder / "pub/link.md")
    home.ingest("s")
    home.ingest("pub")
    assert "pub/link.md" in home.seen()
    home.ingest("s/hr", access="group:hr")
    assert home.seen() == set()


def test_a_known_page_is_replaced_by_a_hard_link_to_one_that_closes_itself(home: Home) -> None:
    home.write("s/open.md", OPEN)
    home.write("s/hr/salaries.md", f"---\naccess: group:hr\n---\n\n{SALARIES}")
    file = home.write("pub/open.md", OPEN)
    home.ingest("s")
    home.ingest("pub", access="public")
    home.write("s/hr/salaries.md")
    home.ingest("s")  # it does not close itself any more, and stays closed
    file.unlink()
    os.link(home.folder / "s/hr/salaries.md", file)
    home.ingest("pub")
    assert home.seen() == set()


def test_a_shared_file_closes_neither_a_new_project_nor_itself(home: Home) -> None:
    conduct = "# Conduct\n\nBe kind at the gate.\n"
    home.write("old/open.md", conduct)
    home.write("hr/conduct.md", conduct)
    home.write("hr/salaries.md")
    home.ingest("old")
    home.ingest("hr", access="group:hr")
    shutil.rmtree(home.folder / "hr")
    home.write("new/conduct.md", conduct)
    home.write("new/gate.md", "# Gate\n\nThe gate is green.\n")
    report = home.ingest("new")
    assert reasons(report) == {}
    assert home.seen(ZED, "gate") >= {"new/gate.md"}


def test_one_page_of_a_closed_project_does_not_close_a_new_one(home: Home) -> None:
    home.write("hr/conduct.md", "# Conduct\n\nBe kind at the gate.\n")
    home.write("hr/plans.md", "# Plans\n\nWe plan.\n")
    home.write("hr/salaries.md")
    home.ingest("hr", access="group:hr")
    shutil.rmtree(home.folder / "hr")
    home.write("new/conduct.md", "# Conduct\n\nBe kind at the gate.\n")
    home.write("new/gate.md", "# Gate\n\nThe gate is green.\n")
    report = home.ingest("new")
    assert home.seen(ZED, "gate") == {"new/gate.md"}
    assert reasons(report).keys() == {"new/conduct.md"}


def test_a_part_that_was_opened_inside_a_closed_one_stays_open_when_the_root_is_widened(closed_part: Home) -> None:
    home = closed_part
    home.write("s/hr/pub/notice.md", "# Notice\n\nThe gate is painted.\n")
    home.ingest("s")
    home.ingest("s/hr/pub", access="public", widen=True)
    assert home.seen(ZED, "gate") == {"open.md", "hr/pub/notice.md"}
    home.ingest("s", access="project", widen=True)
    assert home.seen(ZED, "gate") == {"open.md", "hr/pub/notice.md"}
    assert home.seen(Principal(), "gate") == home.seen() == set()


def test_a_copy_is_closed_when_the_closed_page_and_its_twin_are_removed_together(closed_part: Home) -> None:
    home = closed_part
    home.write("s/copy.md")
    home.ingest("s")
    home.write("s/hr/twin.md")
    home.ingest("s")
    (home.folder / "s/hr/salaries.md").unlink()
    (home.folder / "s/hr/twin.md").unlink()
    home.ingest("s", prune=True)
    assert home.seen() == set()
    assert home.seen(HR) == {"copy.md"}


LICENSE = "\n## License\n\nEverybody may use this text at the gate.\n"


def test_a_footer_that_closed_pages_share_closes_nobody_elses(home: Home) -> None:
    for number in range(4):
        home.write(f"hr/{number}.md", f"# Page {number}\n\nThe salary of pilot {number}.\n{LICENSE}")
    home.ingest("hr", access="group:hr")
    (home.folder / "hr/0.md").unlink()
    home.ingest("hr")
    home.write("open/a.md", f"# Gate\n\nThe gate is green.\n{LICENSE}")
    home.write("open/b.md", f"# Boat\n\nThe boat is at the gate.\n{LICENSE}")
    report = home.ingest("open")
    assert reasons(report) == {}
    assert home.seen(ZED, "gate") == {"open/a.md", "open/b.md"}
    home.write("open/moved.md", f"# Page 0\n\nThe salary of pilot 0.\n{LICENSE}")
    home.ingest("open")
    assert home.seen() == set()


def test_what_many_documents_have_is_looked_up_only_as_often_as_it_takes(home: Home) -> None:
    """A footer on every page must not make each page look at all pages before it."""
    read: list[int] = []
    for number in range(120):
        home.write(f"s/{number}.md", f"# Page {number}\n\nThe number {number}.\n{LICENSE}")
    home.write("hr/a.md", f"# Salaries\n\nThe salary.\n{LICENSE}")
    home.ingest("hr", access="group:hr")
    stamps = SqliteCatalog.stamps

    def counted(
        self: SqliteCatalog, scope: Scope, paths: Collection[str], *, verify: bool = True
    ) -> Mapping[str, KnownDocument]:
        read.append(len(paths))
        return stamps(self, scope, paths, verify=verify)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteCatalog, "stamps", counted)
        home.ingest("s")
    assert sum(read) <= 120 * (MAX_HOLDERS + 5)
    assert home.seen(ZED, "number")
    (home.folder / "hr/a.md").unlink()
    report = home.ingest("hr", prune=True)
    assert reasons(report) == {}


def test_a_source_is_copied_and_its_folder_deleted(home: Home) -> None:
    home.write("hr/salaries.md")
    home.ingest("hr", access="group:hr")
    shutil.copytree(home.folder / "hr", home.folder / "people")
    home.ingest("people")
    shutil.rmtree(home.folder / "hr")
    report = home.ingest("people")
    assert home.seen() == set()
    assert "people/salaries.md" in reasons(report)


def test_a_link_is_left_where_a_source_was(home: Home) -> None:
    home.write("hr/salaries.md")
    home.ingest("hr", access="group:hr")
    shutil.move(home.folder / "hr", home.folder / "people")
    (home.folder / "hr").symlink_to("people")
    home.ingest("hr")
    home.write("hr/bonus.md", "# Bonus\n\nThe salary bonus.\n")
    home.ingest("hr")
    assert home.seen() == set()
    assert home.seen(HR) == {"salaries.md", "bonus.md"}


def test_a_moved_page_is_absent_for_a_run_and_comes_back_with_another_text(closed_part: Home) -> None:
    home = closed_part
    shutil.move(home.folder / "s/hr/salaries.md", home.folder / "s/pay.md")
    home.ingest("s")
    (home.folder / "s/pay.md").unlink()
    home.ingest("s", prune=True)
    home.write("s/pay.md", "# Pay\n\nThe salary is 120.\n")
    report = home.ingest("s")
    assert home.seen() == set()
    assert "pay.md" in reasons(report)


def test_a_pattern_that_only_moves_in_the_settings_opens_nothing(home: Home) -> None:
    home.write("s/pub/a.md", f"---\naccess: group:hr\n---\n\n{SALARIES}")
    home.ingest_settings = {"access_by_path": {"pub/**": ("project",)}}
    home.ingest("s")
    home.write("s/pub/a.md")
    home.ingest_settings = {"access_by_path": {"fin/**": ("group:fin",), "pub/**": ("project",)}}
    report = home.ingest("s")
    assert home.seen() == set()
    assert reasons(report)["pub/a.md"].startswith("it was for group:hr before")


def test_a_source_of_two_names_is_moved(home: Home) -> None:
    home.write("hr/salaries.md")
    home.ingest("hr", access="group:hr")
    home.ingest("hr", name="extra")
    shutil.move(home.folder / "hr", home.folder / "people")
    home.write("people/bonus.md", "# Bonus\n\nThe salary bonus.\n")
    home.ingest("people", name="extra")
    assert home.seen() == set()


def test_the_rule_of_the_settings_counts_for_a_folder_above_as_well(home: Home) -> None:
    home.write("top/hr/salaries.md")
    home.ingest_settings = {"access": ("group:hr",)}
    home.ingest("top/hr")
    home.ingest_settings = {}
    home.write("top/hr/bonus.md", "# Bonus\n\nThe salary bonus.\n")
    home.ingest("top")
    assert home.seen() == set()


def test_what_was_widened_stays_open(closed_part: Home) -> None:
    home = closed_part
    (home.folder / "s/pub").mkdir()
    shutil.move(home.folder / "s/hr/salaries.md", home.folder / "s/pub/salaries.md")
    home.ingest("s/pub", access="project", widen=True)
    assert home.seen() == {"pub/salaries.md"}
    report = home.ingest("s", prune=True)
    assert home.seen() == {"pub/salaries.md"}
    assert reasons(report) == {}


@pytest.mark.parametrize("change", ["rename", "rename the folder", "edit", "edit both"])
def test_a_copy_stays_open_while_the_text_is_in_the_closed_part(closed_part: Home, change: str) -> None:
    home, page = closed_part, closed_part.folder / "s/hr/salaries.md"
    home.write("s/docs/copy.md")
    home.ingest("s")
    assert home.seen() == {"docs/copy.md"}
    if change == "rename":
        shutil.move(page, page.with_name("pay.md"))
    elif change == "rename the folder":
        shutil.move(page.parent, home.folder / "s/people")
    else:
        home.write("s/hr/salaries.md", SALARIES.replace("secret", "riddle"))
    if change == "edit both":
        home.write("s/docs/copy.md", SALARIES.replace("secret", "riddle"))
    report = home.ingest("s")
    assert home.seen() == {"docs/copy.md"}
    assert "docs/copy.md" not in reasons(report)
    shutil.rmtree(home.folder / "s/hr", ignore_errors=True)
    shutil.rmtree(home.folder / "s/people", ignore_errors=True)
    home.ingest("s", prune=True)
    assert home.seen() == set() or change == "edit both"


def test_a_tightening_that_did_not_reach_a_page_is_told_every_time(closed_part: Home) -> None:
    home = closed_part
    file = home.library_folder / "gen-1" / "catalog.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE documents SET title = 'Damaged' WHERE path = 'open.md'")
    (home.folder / "s/open.md").write_bytes(b"\0binary")
    for _ in range(2):
        report = home.ingest("s", access="group:ops")
        assert [note.path for note in report.access if not note.is_reached] == ["open.md"]
