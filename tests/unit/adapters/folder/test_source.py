"""Walking and reading a folder, on a real file system."""

import os
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from citewise.adapters.folder.source import FolderSource
from citewise.errors import BadData, BadRequest
from citewise.model.document import FileProblem, Item

LIMIT = 1000
MARKDOWN = "text/markdown"


def write(root: Path, *paths: str, text: str = "text") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def a_source(root: Path, **options: Any) -> FolderSource:
    return FolderSource(root, **{"media_types": {".md": MARKDOWN}, "max_file_bytes": LIMIT, **options})


def found(root: Path, **options: Any) -> list[str]:
    return [entry.path for entry in a_source(root, **options).items() if isinstance(entry, Item)]


def skipped(root: Path, **options: Any) -> dict[str, str]:
    return {entry.path: entry.reason for entry in a_source(root, **options).items() if isinstance(entry, FileProblem)}


@contextmanager
def unprivileged() -> Iterator[None]:
    """Root may read everything, so for once be nobody."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user can enter; pytest's own cannot be."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    yield root
    for path in root.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(root)


def test_files_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.md", "a.md", "a-b.md", "a/b/c.md", "Z.md", "é.md", "🎉 party.md", "a b/c d.md")
    expected = ["Z.md", "a b/c d.md", "a-b.md", "a.md", "a/b/c.md", "a/z.md", "b.md", "é.md", "🎉 party.md"]
    assert found(tmp_path) == expected == sorted(expected)


def test_a_found_file_has_its_size_and_can_be_read(tmp_path: Path) -> None:
    write(tmp_path, "deep/🎉 ü.md", text="ü")
    source = a_source(tmp_path)
    (entry,) = source.items()
    assert entry == Item("deep/🎉 ü.md", 2, MARKDOWN)
    assert source.read(Item("deep/🎉 ü.md", 2, MARKDOWN)) == "ü".encode()


def test_every_file_is_found_or_skipped_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "LOUD.MD", "logo.png", "Makefile", ".env", ".git/config", "lib/index/x.md", text="x")
    write(tmp_path, "big.md", text="x" * 1001)
    with (tmp_path / "large.md").open("wb") as file:
        file.truncate(50_000_000)
    write(tmp_path, "empty.md", text="")
    own = (tmp_path / "lib", tmp_path / "not there")
    assert found(tmp_path, own_folders=own) == ["LOUD.MD", "a.md"]
    assert skipped(tmp_path, own_folders=own) == {
        ".env": "no parser for files without a suffix",
        ".git/": "version control",
        "Makefile": "no parser for files without a suffix",
        "big.md": "0.1 MB is over the limit of 0.1 MB (raise it with --max-file-mb)",
        "empty.md": "empty file",
        "large.md": "50.0 MB is over the limit of 0.1 MB (raise it with --max-file-mb)",
        "lib/": "the library itself",
        "logo.png": "no parser for .png files",
    }


GITIGNORE: tuple[tuple[list[str], list[str], list[str]], ...] = (
    (["*.md"], ["a.md", "docs/b.md"], []),
    (["/a.md"], ["a.md", "docs/a.md"], ["docs/a.md"]),
    (["docs/"], ["docs/a.md", "x/docs/b.md", "x/docs.md"], ["x/docs.md"]),
    (["*.md", "!keep.md"], ["a.md", "x/keep.md"], ["x/keep.md"]),
    (["docs/", "!docs/keep.md"], ["docs/keep.md"], []),
    (["docs/*", "!docs/keep.md"], ["docs/a.md", "docs/keep.md"], ["docs/keep.md"]),
    (["docs/**", "!docs/keep.md"], ["docs/a.md", "docs/keep.md"], ["docs/keep.md"]),
    (["/*", "!/docs"], ["a.md", "docs/b/c.md"], ["docs/b/c.md"]),
    (["*", "!*/", "!*.md"], ["a.md", "b/c/d.md"], ["a.md", "b/c/d.md"]),
    (["a/**/z.md"], ["a/z.md", "a/b/c/z.md", "z.md"], ["z.md"]),
    (["# note", "", "\\#x.md", "a b.md   ", "[bc].md"], ["#x.md", "a b.md", "b.md", "d.md"], ["d.md"]),
    (["a.md\r", "!"], ["a.md", "b.md"], ["b.md"]),
)


@pytest.mark.parametrize(("lines", "files", "listed"), GITIGNORE)
def test_gitignore_is_read_as_git_reads_it(
    tmp_path: Path, lines: list[str], files: list[str], listed: list[str]
) -> None:
    write(tmp_path, *files)
    (tmp_path / ".gitignore").write_text("\n".join(lines))
    assert found(tmp_path) == listed


def test_a_nested_gitignore_is_relative_to_its_folder_and_overrules_those_above(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "x/a.md", "x/b.md", "x/y/b.md", "b.md")
    (tmp_path / ".gitignore").write_text("a.md")
    (tmp_path / "x/.gitignore").write_text("!a.md\n/b.md")
    assert found(tmp_path) == ["b.md", "x/a.md", "x/y/b.md"]


def test_gitignore_files_above_the_root_are_not_read(tmp_path: Path) -> None:
    write(tmp_path, "docs/a.md")
    (tmp_path / ".gitignore").write_text("*")
    assert found(tmp_path / "docs") == ["a.md"]


def test_an_ignored_folder_is_one_entry_and_is_not_entered(tmp_path: Path) -> None:
    write(tmp_path, "build/a.md", "build/b/c.md", "node_modules/x/y.md")
    (tmp_path / ".gitignore").write_text("build/\nnode_modules")
    reasons = skipped(tmp_path)
    del reasons[".gitignore"]
    assert reasons == {"build/": "ignored by .gitignore", "node_modules/": "ignored by .gitignore"}


def test_excluded_paths_name_the_pattern_that_took_them_out(tmp_path: Path) -> None:
    write(tmp_path, "drafts/a.md", "b.md", "old/c.md", "old/keep.md")
    reasons = skipped(tmp_path, exclude=("drafts/", "old/*", "!keep.md"))
    assert reasons == {"drafts/": "excluded by --exclude drafts/", "old/c.md": "excluded by --exclude old/*"}


def test_with_include_only_what_matches_is_found(tmp_path: Path) -> None:
    write(tmp_path, "docs/a/b.md", "guide/c.md", "d.md")
    assert found(tmp_path, include=("docs/", "guide/*.md")) == ["docs/a/b.md", "guide/c.md"]
    assert skipped(tmp_path, include=("docs/", "guide/*.md"))["d.md"] == "not included by --include docs/, guide/*.md"


def test_links_are_followed_to_files_of_the_source_and_nowhere_else(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, "root/a.md", "root/.git/x.md", "root/lib/x.md", "outside.md", "outside/b.md")
    links = {
        "in.md": "a.md",
        "out.md": "../outside.md",
        "folder": "../outside",
        "up": "..",
        "self.md": "self.md",
        "one.md": "two.md",
        "two.md": "one.md",
        "gone.md": "nothing.md",
        "git.md": ".git/x.md",
        "lib.md": "lib/x.md",
        "in.txt": "a.md",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    reasons = skipped(root, own_folders=(root / "lib",))
    assert found(root, own_folders=(root / "lib",)) == ["a.md", "in.md"]
    assert {name: reasons[name] for name in links if name != "in.md"} == {
        "out.md": "symbolic link points outside the source",
        "folder": "symbolic link to a folder",
        "up": "symbolic link to a folder",
        "self.md": "symbolic link loop",
        "one.md": "symbolic link loop",
        "two.md": "symbolic link loop",
        "gone.md": "symbolic link to nothing",
        "git.md": "symbolic link into version control",
        "lib.md": "symbolic link into the library itself",
        "in.txt": "no parser for .txt files",
    }
    (linked,) = a_source(root, only=frozenset({"in.md"})).items()
    assert linked == Item("in.md", 4, MARKDOWN, aliases=("a.md",))
    assert a_source(root).read(linked) == b"text"


LEFT_OUT_TARGETS = {  # path of a file -> options, why a link to it is left out
    "private/x.md": ({}, "ignored by .gitignore"),
    "private/deep/x.md": ({}, "ignored by .gitignore"),
    "deep/own/x.md": ({}, "ignored by .gitignore"),
    "drafts/x.md": ({"exclude": ("drafts/",)}, "excluded by --exclude drafts/"),
    "other/x.md": ({"include": ("pub/",)}, "not included by --include pub/"),
    ".cache/x.md": ({}, "left out: hidden folder (add it with --include)"),
    "vendor/lib/x.md": ({}, "left out: vendored folder (add it with --include)"),
}


@pytest.mark.parametrize("is_part", [False, True], ids=["whole", "part"])
@pytest.mark.parametrize("target", LEFT_OUT_TARGETS)
def test_a_link_to_a_file_that_is_left_out_is_left_out_for_the_same_reason(
    tmp_path: Path, target: str, is_part: bool
) -> None:
    options, reason = LEFT_OUT_TARGETS[target]
    write(tmp_path, target, "pub/a.md")
    (tmp_path / ".gitignore").write_text("private/")
    write(tmp_path, "deep/own/.gitignore", text="x.md")
    (tmp_path / "pub/soft.md").symlink_to(f"../{target}")
    (tmp_path / "pub/chain.md").symlink_to("soft.md")
    part = {"only": frozenset({"pub"})} if is_part else {}
    assert found(tmp_path, **part, **options) == ["pub/a.md"]
    reasons = skipped(tmp_path, **part, **options)
    assert reasons["pub/soft.md"] == reasons["pub/chain.md"] == f"symbolic link to a file that is {reason}"
    (tmp_path / "pub/hard.md").hardlink_to(tmp_path / target)
    if reason.startswith(("ignored", "excluded")):
        assert skipped(tmp_path, **part, **options)["pub/hard.md"] == f"hard link to a file that is {reason}"
    else:  # a snapshot in a hidden folder leaves the files that it was made of as they are
        assert found(tmp_path, **part, **options) == ["pub/a.md", "pub/hard.md"]


def test_a_link_through_a_linked_folder_has_the_rules_of_the_place_it_leads_to(tmp_path: Path) -> None:
    write(tmp_path, "private/x.md", "open/y.md")
    (tmp_path / ".gitignore").write_text("private/")
    (tmp_path / "closed").symlink_to("private")
    (tmp_path / "way").symlink_to("open")
    (tmp_path / "a.md").symlink_to("closed/x.md")
    (tmp_path / "b.md").symlink_to("way/y.md")
    assert skipped(tmp_path)["a.md"] == "symbolic link to a file that is ignored by .gitignore"
    (linked, _) = (entry for entry in a_source(tmp_path).items() if isinstance(entry, Item))
    assert linked == Item("b.md", 4, MARKDOWN, aliases=("open/y.md",))


def test_the_names_of_a_file_know_each_other(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "plain.md")
    (tmp_path / "x").mkdir()
    (tmp_path / "x/b.md").hardlink_to(tmp_path / "a.md")
    (tmp_path / "c.md").symlink_to("x/b.md")
    (tmp_path / "notes.txt").hardlink_to(tmp_path / "a.md")  # a name without a parser is a name
    expected = {
        "a.md": ("notes.txt", "x/b.md"),
        "c.md": ("x/b.md", "a.md", "notes.txt"),
        "plain.md": (),
        "x/b.md": ("a.md", "notes.txt"),
    }
    for only in (None, frozenset(expected)):
        items = [entry for entry in a_source(tmp_path, only=only).items() if isinstance(entry, Item)]
        assert {item.path: item.aliases for item in items} == expected
        assert [item.path for item in items if item.is_linked] == ["a.md", "c.md", "x/b.md"]


def test_a_target_that_has_another_name_in_an_ignored_folder_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "private/x.md")
    (tmp_path / ".gitignore").write_text("private/")
    (tmp_path / "b.md").hardlink_to(tmp_path / "private/x.md")
    (tmp_path / "a.md").symlink_to("b.md")
    reasons = skipped(tmp_path)
    assert reasons["a.md"] == reasons["b.md"] == "hard link to a file that is ignored by .gitignore"


def test_a_name_outside_the_source_is_no_alias(tmp_path: Path) -> None:
    write(tmp_path, "outside.md", "root/b.md")
    (tmp_path / "root/a.md").hardlink_to(tmp_path / "outside.md")
    entries = list(a_source(tmp_path / "root").items())
    assert entries == [Item("a.md", 4, MARKDOWN, is_linked=True), Item("b.md", 4, MARKDOWN)]


def test_a_link_into_a_folder_whose_rules_cannot_be_read_keeps_what_the_library_has(tmp_path: Path) -> None:
    write(tmp_path, "x/a.md")
    os.mkfifo(tmp_path / "x/.gitignore")
    (tmp_path / "link.md").symlink_to("x/a.md")
    (link, _) = a_source(tmp_path).items()
    why = "left out: folder cannot be read: its .gitignore is not a regular file"
    assert link == FileProblem("link.md", f"symbolic link to a file that is {why}", is_unseen=True)


def test_a_file_of_very_many_names_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    for number in range(64):
        (tmp_path / f"b{number}.md").hardlink_to(tmp_path / "a.md")
    assert found(tmp_path) == []
    assert skipped(tmp_path)["a.md"] == "hard link to a file with 65 names in the source; at most 64 are compared"
    (tmp_path / "b0.md").unlink()
    assert len(found(tmp_path)) == 64


def test_copies_of_a_tree_by_hard_links_are_walked_twice_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"{copy}/{folder}/{page}.md" for copy in range(8) for folder in range(10) for page in range(10)]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        first = tmp_path / f"0{path[1:]}"
        first.write_text("text") if path.startswith("0") else (tmp_path / path).hardlink_to(first)
    looked: Counter[str] = Counter()

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            looked[name] += 1
            return real(*args, **options)

        return call

    for name in ("lstat", "stat", "scandir", "listdir"):
        monkeypatch.setattr(os, name, counted(name, getattr(os, name)))
    items = [entry for entry in a_source(tmp_path).items() if isinstance(entry, Item)]
    assert {len(item.aliases) for item in items} == {7}
    assert len(items) == len(paths)
    assert looked.total() < 6 * len(paths)


def test_pipes_and_sockets_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    os.mknod("socket.md", stat.S_IFSOCK | 0o600)
    assert skipped(tmp_path) == {"pipe.md": "not a regular file", "socket.md": "not a regular file"}


def test_names_that_no_report_can_print_are_skipped(tmp_path: Path) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/f\xff")
    for name in (b"caf\xe9.md", b"tab\there.md", b"line\n.md", b"f\xff/x.md"):
        os.close(os.open(os.fsencode(tmp_path) + b"/" + name, os.O_CREAT | os.O_WRONLY))
    assert skipped(tmp_path) == {
        "caf\\xe9.md": "file name is not valid UTF-8",
        "f\\xff/": "folder name is not valid UTF-8",
        "line\\x0a.md": "file name holds a control character",
        "tab\\x09here.md": "file name holds a control character",
    }


def test_a_folder_that_cannot_be_read_is_skipped_and_the_rest_goes_on(shared: Path) -> None:
    write(shared, "a.md", "locked/b.md", "listed/c.md", "z.md")
    (shared / "locked").chmod(0)
    (shared / "listed").chmod(0o444)  # its names can be read, its files cannot
    with unprivileged():
        entries = list(a_source(shared).items())
    assert entries == [
        Item("a.md", 4, MARKDOWN),
        FileProblem("listed/", "folder cannot be read: permission denied", is_unseen=True),
        FileProblem("locked/", "folder cannot be read: permission denied", is_unseen=True),
        Item("z.md", 4, MARKDOWN),
    ]


def test_a_folder_whose_gitignore_cannot_be_read_is_left_out(shared: Path) -> None:
    write(shared, "x/secret.md", "x/.gitignore")
    (shared / "x/.gitignore").chmod(0)
    with unprivileged():
        reasons = skipped(shared)
    assert reasons == {"x/": "folder cannot be read: its .gitignore cannot be read: permission denied"}


def test_a_gitignore_that_is_not_read_leaves_its_folder_out(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "long/b.md", "pipe/c.md", "folder/d.md", "folder/.gitignore/e")
    (tmp_path / "long/.gitignore").write_text("x\n" + "*a" * 5000)
    os.mkfifo(tmp_path / "pipe/.gitignore")
    assert found(tmp_path) == ["a.md", "folder/d.md"]
    reasons = skipped(tmp_path)
    assert reasons["pipe/"] == "folder cannot be read: its .gitignore is not a regular file"
    assert reasons["long/"].endswith("its .gitignore: a pattern has 10,000 characters: at most 4,096 are allowed")


def test_a_file_that_cannot_be_read_says_why(shared: Path) -> None:
    write(shared, "a.md")
    (shared / "a.md").chmod(0)
    with unprivileged(), pytest.raises(BadData) as raised:
        a_source(shared).read(Item("a.md", 4, MARKDOWN))
    assert str(raised.value) == "cannot be read: permission denied"


def test_a_root_that_cannot_be_read_is_refused_before_anything_is_yielded(shared: Path) -> None:
    write(shared, "locked/a.md")
    (shared / "locked").chmod(0)
    with unprivileged(), pytest.raises(BadRequest, match="permission denied"):
        a_source(shared / "locked").items()


def swapped_for_a_link_out(root: Path) -> None:
    (root / "dir/a.md").unlink()
    (root / "dir/a.md").symlink_to(root.parent / "outside/a.md")


def swapped_for_a_link_within(root: Path) -> None:
    (root / "dir/a.md").unlink()
    write(root, "private/b.md")
    (root / "dir/a.md").symlink_to("../private/b.md")


def swapped_for_a_linked_folder(root: Path) -> None:
    shutil.rmtree(root / "dir")
    (root / "dir").symlink_to(root.parent / "outside")


def swapped_for_a_pipe(root: Path) -> None:
    (root / "dir/a.md").unlink()
    os.mkfifo(root / "dir/a.md")


def swapped_for_a_folder(root: Path) -> None:
    (root / "dir/a.md").unlink()
    (root / "dir/a.md").mkdir()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (swapped_for_a_link_out, "symbolic link points outside the source"),
        (swapped_for_a_linked_folder, "cannot be read: not a directory"),
        (swapped_for_a_pipe, "is not a regular file"),
        (swapped_for_a_folder, "is not a regular file"),
        (
            lambda root: (root / "dir/a.md").write_text("x" * 1001),
            "has grown beyond the limit of 1000 bytes since it was listed",
        ),
        (lambda root: (root / "dir/a.md").unlink(), "cannot be read: no such file or directory"),
        (swapped_for_a_link_within, "has become a symbolic link to another file since it was listed"),
    ],
    ids=["a link out", "a linked folder", "a pipe", "a folder", "grown", "removed", "a link within"],
)
def test_a_file_that_changed_since_the_walk_is_refused(tmp_path: Path, change: Any, reason: str) -> None:
    root = tmp_path / "root"
    write(tmp_path, "root/dir/a.md", "outside/a.md")
    source = a_source(root)
    (entry,) = source.items()
    assert isinstance(entry, Item)
    change(root)
    with pytest.raises(BadData) as raised:
        source.read(entry)
    assert str(raised.value) == reason


def test_a_file_at_the_limit_is_read_whole(tmp_path: Path) -> None:
    write(tmp_path, "a.md", text="x" * LIMIT)
    assert len(a_source(tmp_path).read(Item("a.md", 5, MARKDOWN))) == LIMIT


@pytest.fixture
def deep() -> Iterator[Path]:
    """2,100 folders, one inside the other: beyond the longest path that a system call takes."""
    memory = Path("/dev/shm")  # where there is none, a disk takes seconds for so many folders
    root = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    at = os.open(root, os.O_RDONLY)
    for _ in range(2100):
        os.mkdir("d", dir_fd=at)
        os.close(os.open("a.md", os.O_CREAT | os.O_WRONLY, dir_fd=at))
        at = moved("d", at)
    yield root
    for _ in range(2100):  # upward, as rmtree would go deeper than Python may call
        at = moved("..", at)
        os.rmdir("d", dir_fd=at)
        os.unlink("a.md", dir_fd=at)
    os.close(at)
    root.rmdir()


def moved(name: str, at: int) -> int:
    there = os.open(name, os.O_RDONLY, dir_fd=at)
    os.close(at)
    return there


def test_very_deep_folders_do_not_crash_the_walk(deep: Path) -> None:
    entries = list(a_source(deep).items())
    assert len(entries) > 1900
    assert {entry.reason for entry in entries if isinstance(entry, FileProblem)} == {
        "empty file",
        "folder cannot be read: file name too long",
    }


def test_a_missing_root_is_a_bad_request(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=r"nowhere cannot be read: no such file"):
        a_source(tmp_path / "nowhere").items()


def test_the_library_itself_cannot_be_a_source(tmp_path: Path) -> None:
    write(tmp_path, "lib/x/a.md")
    with pytest.raises(BadRequest, match="inside the library itself"):
        a_source(tmp_path / "lib/x", own_folders=(tmp_path / "lib",))


def test_only_names_what_a_whole_walk_would_say_of_it(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md", "x/c.md", "x/y/d.md", "x/y/e.md", "x/z.png", "build/f.md")
    (tmp_path / ".gitignore").write_text("build/")
    only = frozenset({"x/c.md", "x/y", "x/y/d.md", "x/z.png", "build/f.md", "gone.md", "a.md/under", "no/where.md"})
    assert list(a_source(tmp_path, only=only).items()) == [
        Item("a.md", 4, MARKDOWN),  # it stands where a folder was named
        FileProblem("build/", "ignored by .gitignore"),
        Item("x/c.md", 4, MARKDOWN),
        Item("x/y/d.md", 4, MARKDOWN),
        Item("x/y/e.md", 4, MARKDOWN),
        FileProblem("x/z.png", "no parser for .png files"),
    ]


def test_only_the_root_is_everything(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "x/b.md")
    assert found(tmp_path, only=frozenset({".", "x/b.md"})) == ["a.md", "x/b.md"]


def test_only_does_not_look_at_other_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a/b.md", "c/d.md")
    monkeypatch.setattr(os, "listdir", lambda path: pytest.fail(f"listed {path}"))
    assert found(tmp_path, only=frozenset({"a/b.md"})) == ["a/b.md"]


@pytest.mark.parametrize("path", ["../a.md", "/etc/passwd", "x/../../a.md"])
def test_only_cannot_lead_out_of_the_root(tmp_path: Path, path: str) -> None:
    with pytest.raises(BadRequest, match="only paths below the source"):
        a_source(tmp_path, only=frozenset({path}))


LEFT_OUT = (".git", ".github", ".venv", "__pycache__", "bower_components", "node_modules", "third_party", "vendor")


@pytest.mark.parametrize("folder", LEFT_OUT)
def test_hidden_and_vendored_folders_are_left_out_with_a_reason(tmp_path: Path, folder: str) -> None:
    write(tmp_path, "a.md", f"{folder}/b.md", f"deep/{folder}/c/d.md")
    assert found(tmp_path) == ["a.md"]
    reasons = skipped(tmp_path)
    assert set(reasons) == {f"{folder}/", f"deep/{folder}/"}
    assert all("--include" in reason or reason == "version control" for reason in reasons.values())


@pytest.mark.parametrize("pattern", ["vendor/", "vendor/ours/**", "/vendor/ours/a.md", "**/vendor/**"])
def test_a_vendored_folder_is_walked_where_an_include_names_it(tmp_path: Path, pattern: str) -> None:
    write(tmp_path, "vendor/ours/a.md", "node_modules/b.md", "c.md")
    assert found(tmp_path, include=(pattern,)) == ["c.md", "vendor/ours/a.md"]
    assert skipped(tmp_path, include=(pattern,)) == {"node_modules/": "vendored folder (add it with --include)"}


@pytest.mark.parametrize(
    ("include", "listed"),
    [
        ((".github/docs/",), [".github/docs/b.md", "guide/c.md", "d.md"]),
        ((".github/docs/", "guide/"), [".github/docs/b.md", "guide/c.md"]),
        (("*.md",), ["d.md", "guide/c.md"]),
    ],
)
def test_an_include_that_names_a_hidden_folder_adds_to_the_rest(
    tmp_path: Path, include: tuple[str, ...], listed: list[str]
) -> None:
    write(tmp_path, ".github/a.md", ".github/docs/b.md", "guide/c.md", "d.md")
    assert found(tmp_path, include=include) == sorted(listed)


def test_a_hidden_file_or_a_hidden_root_is_no_hidden_folder(tmp_path: Path) -> None:
    write(tmp_path, ".notes/.draft.md", ".notes/vendor.md")
    assert found(tmp_path / ".notes") == [".draft.md", "vendor.md"]
