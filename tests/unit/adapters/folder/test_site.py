"""The site of a folder: its configuration is found in the usual places, and no other."""

import os
from pathlib import Path

import pytest

from citewise.adapters.folder.site import MAX_CONFIG_BYTES, Site, site_of
from citewise.adapters.folder.source import FolderSource
from citewise.model.document import SITE, FileProblem, Item

CONFIG = "export default {url: 'https://a.example', baseUrl: '/', presets: [['classic', {docs: {DOCS}}]]}"
URL = "https://a.example/docs/"


def a_tree(root: Path, config: str, *, docs: str = "{}") -> Path:
    for file, text in {config: CONFIG.replace("{DOCS}", docs), "website/docs/guides/a.md": "# A\n"}.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return root


def shown(folder: Path, path: str) -> object:
    site = site_of(folder)
    assert isinstance(site, Site)
    return site.metadata(path).get(SITE)


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        ("", "website/docs/guides/a.md"),
        ("website", "docs/guides/a.md"),
        ("website/docs", "guides/a.md"),
    ],
)
def test_a_site_is_found_in_the_folder_below_it_and_beside_it(tmp_path: Path, folder: str, path: str) -> None:
    a_tree(tmp_path, "website/docusaurus.config.ts")
    assert shown(tmp_path / folder, path) == {"url": URL, "path": "guides/a.md"}


def test_docs_beside_the_folder_of_the_site_belong_to_it(tmp_path: Path) -> None:
    a_tree(tmp_path, "website/docusaurus.config.js", docs="{path: '../docs'}")
    (tmp_path / "docs").mkdir()
    assert shown(tmp_path / "docs", "a.md") == {"url": URL, "path": "a.md"}
    assert shown(tmp_path, "docs/a.md") == {"url": URL, "path": "a.md"}


def test_a_folder_inside_the_docs_knows_where_it_is(tmp_path: Path) -> None:
    a_tree(tmp_path, "website/docs/docusaurus.config.js", docs="{path: './'}")
    assert shown(tmp_path / "website" / "docs" / "guides", "a.md") == {"url": URL, "path": "guides/a.md"}


def test_what_the_site_does_not_show_has_no_url(tmp_path: Path) -> None:
    a_tree(tmp_path, "website/docusaurus.config.js")
    for path in ("README.md", "website/blog/a.md", "website/docs2/a.md", "docs/a.md"):
        assert shown(tmp_path, path) is None


def test_without_a_configuration_or_far_from_it_there_is_no_site(tmp_path: Path) -> None:
    a_tree(tmp_path, "website/docusaurus.config.js")
    assert site_of(tmp_path / "website" / "docs" / "guides") is None
    assert site_of(tmp_path / "website" / "docs" / "gone") is None


def problem_of(folder: Path) -> FileProblem:
    problem = site_of(folder)
    assert isinstance(problem, FileProblem)
    assert problem.is_warning
    return problem


def test_an_odd_configuration_is_named_with_the_reason(tmp_path: Path) -> None:
    a_tree(tmp_path, "website/docusaurus.config.js", docs="options")
    reason = "no site is known: the docs of its preset are not written out; set citations.sites to link to pages"
    assert problem_of(tmp_path) == FileProblem("website/docusaurus.config.js", reason, is_warning=True)
    assert problem_of(tmp_path / "website" / "docs").path == "../docusaurus.config.js"


def test_a_configuration_that_is_too_large_a_folder_or_a_link_out_of_the_tree_is_not_read(tmp_path: Path) -> None:
    config = a_tree(tmp_path / "outside", "docusaurus.config.js") / "docusaurus.config.js"
    root = tmp_path / "root"
    root.mkdir()
    (root / config.name).symlink_to(config)
    assert "points outside" in problem_of(root).reason
    (root / config.name).unlink()
    (root / config.name).write_text(" " * (MAX_CONFIG_BYTES + 1))
    assert "limit" in problem_of(root).reason
    (root / config.name).unlink()
    (root / config.name).mkdir()
    assert "not a regular file" in problem_of(root).reason
    (root / config.name).rmdir()
    os.mkfifo(root / config.name)  # nobody writes to it
    assert "not a regular file" in problem_of(root).reason


def test_the_source_hands_the_site_on_with_its_items_and_lists_a_bad_configuration_once(tmp_path: Path) -> None:
    a_tree(tmp_path, "website/docusaurus.config.js")

    def entries() -> list[Item | FileProblem]:
        types = {".md": "text/markdown"}
        return list(FolderSource(tmp_path, media_types=types, max_file_bytes=1_000, site=site_of(tmp_path)).items())

    (page,) = [entry for entry in entries() if isinstance(entry, Item)]
    assert page.metadata == {SITE: {"url": URL, "path": "guides/a.md"}}
    (tmp_path / "website" / "docusaurus.config.js").write_text("oops")
    assert [entry.metadata for entry in entries() if isinstance(entry, Item)] == [{}]
    assert [entry.is_warning for entry in entries() if isinstance(entry, FileProblem)] == [True]
