"""A citation's link must open the page that Docusaurus built, and nothing beyond its site."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citewise.model.document import SITE, Json
from citewise.text.urls import Addresses, Slugger
from tests.builders import a_passage

DOCS = Addresses({"website/docs/": "/docs/", "": "/docs/"})
BLOBS = Addresses(
    repositories={"": "https://github.com/acme/app/blob/main/", "web/": "https://github.com/acme/web/blob/main"}
)


def page(document: str, **front: Json) -> str | None:
    return DOCS.url(a_passage(document=document, anchor="", metadata=front))


@pytest.mark.parametrize(
    ("document", "url"),
    [
        ("intro.md", "/docs/intro"),
        ("guides/setup.mdx", "/docs/guides/setup"),
        ("guides/setup.MD", "/docs/guides/setup"),
        ("website/docs/intro.md", "/docs/intro"),
        ("website/docs/website/docs/intro.md", "/docs/website/docs/intro"),
        ("other/website/docs/intro.md", "/docs/other/website/docs/intro"),
        ("a.b/v1.2.md", "/docs/a.b/v1.2"),
        # An index is its folder, with a slash.
        ("index.md", "/docs/"),
        ("README.md", "/docs/"),
        ("guides/index.mdx", "/docs/guides/"),
        ("guides/Index.md", "/docs/guides/"),
        ("guides/reADMe.mdx", "/docs/guides/"),
        ("guides/guides.md", "/docs/guides/"),
        ("guides/setup/SetUp.md", "/docs/guides/setup/"),
        ("setup/guides/setup.md", "/docs/setup/guides/setup"),
        ("guides/indexes.md", "/docs/guides/indexes"),
        # Numbers in front give an order and go; versions and dates stay.
        ("02-deploy/01-mounting.md", "/docs/deploy/mounting"),
        ("002 - deploy/1___mounting.md", "/docs/deploy/mounting"),
        ("1. deploy/003.mounting.md", "/docs/deploy/mounting"),
        ("02-deploy/index.md", "/docs/deploy/"),
        ("02-deploy/02-deploy.md", "/docs/deploy/"),
        ("02-deploy/deploy.md", "/docs/deploy/deploy"),  # compared as the files are named
        ("02-deploy/01-index.md", "/docs/deploy/index"),
        (
            "module-1/1.1-introduction-to-physical-ai/physical-ai-foundations.md",
            "/docs/module-1/1.1-introduction-to-physical-ai/physical-ai-foundations",
        ),
        ("2021-11-notes.md", "/docs/2021-11-notes"),
        ("31_01_2021 - notes.md", "/docs/31_01_2021%20-%20notes"),
        ("8.0/14.2.16.md", "/docs/8.0/14.2.16"),
        ("2021.md", "/docs/2021"),
        ("01-.md", "/docs/01-"),
        ("1--2-x.md", "/docs/2-x"),
        ("a1-b.md", "/docs/a1-b"),
        # Characters.
        ("hey $hello/my dôc.md", "/docs/hey%20$hello/my%20dôc"),
        ("日本/हिन्दी.md", "/docs/日本/हिन्दी"),
        ("a?b#c%d.md", "/docs/a%3Fb%23c%25d"),
        ("50%2e%2e.md", "/docs/50%252e%252e"),
        ("a\\..\\b.md", "/docs/a%5C..%5Cb"),
        ("a'(b)\"<c>.md", "/docs/a%27%28b%29%22%3Cc%3E"),
        ("tab\tand\x00nul\x7f.md", "/docs/tab%09and%00nul%7F"),
        ("flip\u202eped\u200b.md", "/docs/flip%E2%80%AEped%E2%80%8B"),
        ("half\ud83d.md", "/docs/half%3F"),
        ("@scope/c++.md", "/docs/@scope/c++"),
        # Not pages: included in others, or handed out as they are.
        ("guides/_partial.mdx", None),
        ("_drafts/new.md", None),
        ("02-files/01 report.pdf", "/docs/02-files/01%20report.pdf"),
    ],
)
def test_a_path_becomes_the_url_that_docusaurus_gives_it(document: str, url: str | None) -> None:
    assert page(document) == url


@pytest.mark.parametrize(
    ("slug", "url"),
    [
        ("/abc/def", "/docs/abc/def"),
        ("/", "/docs/"),
        ("/abc/", "/docs/abc/"),
        ("/01-abc", "/docs/01-abc"),
        ("abc/def", "/docs/dir/sub/abc/def"),
        ("abc/", "/docs/dir/sub/abc/"),
        ("./abc", "/docs/dir/sub/abc"),
        ("./abc/../def", "/docs/dir/sub/def"),
        ("../abc", "/docs/dir/abc"),
        ("..", "/docs/dir/"),
        (".", "/docs/dir/sub/"),
        ("../../../../../abc/../def", "/docs/def"),
        ("/api/themes/@docusaurus/theme-classic", "/docs/api/themes/@docusaurus/theme-classic"),
        (2021, "/docs/dir/sub/2021"),
        (1.5, "/docs/dir/sub/1.5"),
        (2.0, "/docs/dir/sub/2"),
        # What is no slug counts as none.
        ("", "/docs/dir/sub/doc"),
        (None, "/docs/dir/sub/doc"),
        (True, "/docs/dir/sub/doc"),
        (["/abc"], "/docs/dir/sub/doc"),
        ({"a": 1}, "/docs/dir/sub/doc"),
        pytest.param(10**5000, "/docs/dir/sub/doc", id="an integer too long to print"),
        (float("nan"), "/docs/dir/sub/doc"),
        # What Docusaurus would refuse to build stays inside the site all the same.
        ("//evil.com/x", "/docs/evil.com/x"),
        ("/../../etc", "/docs/etc"),
        ("https://evil.com/x", "/docs/dir/sub/https:/evil.com/x"),
        ("javascript:alert(1)", "/docs/dir/sub/javascript:alert%281%29"),
        ("/\\evil.com", "/docs/%5Cevil.com"),
        ("/%2e%2e/%2e%2e/x", "/docs/%252e%252e/%252e%252e/x"),
        ("/.\t./x", "/docs/.%09./x"),
        ("/a b?c=d#e", "/docs/a%20b%3Fc=d%23e"),
    ],
)
def test_a_slug_is_resolved_against_its_folder_and_never_leaves_the_site(slug: Json, url: str) -> None:
    assert page("01-dir/2-sub/3-doc.md", slug=slug) == url


@pytest.mark.parametrize(
    ("document", "front", "url"),
    [
        ("dir/01-doc.md", {"id": "other"}, "/docs/dir/other"),
        ("dir/01-doc.md", {"id": "01-other"}, "/docs/dir/01-other"),
        ("dir/01-doc.md", {"id": 7}, "/docs/dir/7"),
        ("dir/01-doc.md", {"id": "a/b"}, "/docs/dir/doc"),
        ("dir/01-doc.md", {"id": ["x"]}, "/docs/dir/doc"),
        ("dir/01-doc.md", {"id": "other", "slug": "this"}, "/docs/dir/this"),
        ("dir/index.md", {"id": "other"}, "/docs/dir/"),
        ("dir/index.md", {"slug": "/home"}, "/docs/home"),
        ("01-dir/02-doc.md", {"parse_number_prefixes": False}, "/docs/01-dir/02-doc"),
        ("01-dir/02-doc.md", {"parse_number_prefixes": False, "slug": "x"}, "/docs/01-dir/x"),
        ("01-dir/index.md", {"parse_number_prefixes": False}, "/docs/01-dir/"),
    ],
)
def test_frontmatter_names_the_page_but_a_slug_counts_more(document: str, front: dict[str, Json], url: str) -> None:
    assert page(document, **front) == url


@pytest.mark.parametrize(
    ("anchor", "breadcrumb", "text", "fragment"),
    [
        ("getting-started", ("Tides", "Getting started"), "Text.", "#getting-started"),
        ("foo-1", ("Tides", "Foo"), "Text.", "#foo-1"),
        ("привет-你好", ("Tides", "Привет"), "Text.", "#привет-你好"),
        ("a b#c", ("Tides", "A"), "Text.", "#a%20b%23c"),
        ("x(1)", ("Tides", "A"), "Text.", "#x%281%29"),
        ("", ("Tides",), "Text.", ""),
        # The H1 has no id in the page.
        ("tides", ("Tides",), "Text.", ""),
        ("tides-and-gauges", ("Tides and gauges",), "# Tides and gauges\n\nText.", ""),
        ("setup", ("Setup",), "## Setup\n\nText.", "#setup"),
    ],
)
def test_the_fragment_is_the_anchor_of_the_section(
    anchor: str, breadcrumb: tuple[str, ...], text: str, fragment: str
) -> None:
    passage = a_passage(text, document="a.md", anchor=anchor, title="Tides", breadcrumb=breadcrumb)
    assert DOCS.url(passage) == f"/docs/a{fragment}"


@pytest.mark.parametrize(
    ("sites", "document", "url"),
    [
        ({"docs/": "https://acme.dev/guide"}, "docs/intro.md", "https://acme.dev/guide/intro"),
        ({"docs/": "https://acme.dev/guide/"}, "docs/index.md", "https://acme.dev/guide/"),
        ({"docs/": "/d/", "docs/api/": "/api/", "": "/"}, "docs/api/x.md", "/api/x"),
        ({"docs/api/": "/api/", "docs/": "/d/"}, "docs/x.md", "/d/x"),
        ({"": ""}, "javascript:alert.md", "/javascript:alert"),
        ({"": "/"}, "/evil.com/x.md", "/evil.com/x"),
        ({"docs/": "/d/"}, "notes/x.md", None),
        ({}, "x.md", None),
    ],
)
def test_the_longest_prefix_that_fits_names_the_site(sites: dict[str, str], document: str, url: str | None) -> None:
    assert Addresses(sites).url(a_passage(document=document, anchor="")) == url


@pytest.mark.parametrize(
    ("document", "lines", "url"),
    [
        ("src/main.py", (10, 20), "https://github.com/acme/app/blob/main/src/main.py#L10-L20"),
        ("src/main.py", (10, 10), "https://github.com/acme/app/blob/main/src/main.py#L10"),
        ("web/01-a/index.md", (1, 2), "https://github.com/acme/web/blob/main/01-a/index.md#L1-L2"),
        ("web/../../x#y.py", (1, 1), "https://github.com/acme/web/blob/main/x%23y.py#L1"),
        ("app/(group)/page.tsx", (1, 1), "https://github.com/acme/app/blob/main/app/%28group%29/page.tsx#L1"),
    ],
)
def test_code_links_to_its_lines_in_the_repository(document: str, lines: tuple[int, int], url: str) -> None:
    assert BLOBS.url(a_passage(document=document, lines=lines, corpus_type="CODE_LOGIC")) == url


def test_without_a_site_a_page_has_no_url() -> None:
    assert Addresses().url(a_passage(document="website/docs/intro.md")) is None


HARBOR = {"url": "https://harbor.example/docs/", "path": "02-tides/index.md"}


@pytest.mark.parametrize(
    ("site", "url"),
    [
        (HARBOR, "https://harbor.example/docs/tides/#reading"),
        ({**HARBOR, "url": "https://harbor.example"}, "https://harbor.example/tides/#reading"),
        ({**HARBOR, "path": 7}, None),
        ({"path": "a.md"}, None),
        ("https://harbor.example/docs/", None),
    ],
)
def test_a_site_that_the_source_knows_gives_the_url_below_it(site: Json, url: str | None) -> None:
    passage = a_passage(document="website/docs/02-tides/index.md", metadata={SITE: site})
    assert Addresses().url(passage) == url


def test_a_site_that_is_set_counts_more_than_the_one_that_the_source_knows() -> None:
    passage = a_passage(document="tides.md", anchor="", metadata={SITE: HARBOR})
    assert Addresses({"": "https://set.example/"}).url(passage) == "https://set.example/tides"
    assert Addresses({"ops/": "https://set.example/"}).url(passage) == "https://harbor.example/docs/tides/"


def test_code_without_a_repository_and_conversations_have_no_url() -> None:
    assert DOCS.url(a_passage(document="src/main.py", corpus_type="CODE_LOGIC")) is None
    assert BLOBS.url(a_passage(document="general.md", corpus_type="CONVO_SLACK")) is None


hostile = st.text(st.one_of(st.sampled_from("/.\\%:?#@ \t\n"), st.characters()), max_size=30)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), hostile),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=4,
)


@given(document=hostile, slug=values, id_=values, anchor=hostile, base=st.sampled_from(["/docs/", "https://a.dev/x"]))
@example(document="a.md", slug="//evil.com", id_=None, anchor="", base="/docs/")
@example(document="../../a.md", slug=None, id_="..", anchor="#", base="/docs/")
def test_no_input_leaves_the_base_or_raises(document: str, slug: Json, id_: Json, anchor: str, base: str) -> None:
    passage = a_passage(document=f"{document}.md", anchor=anchor, metadata={"slug": slug, "id": id_})
    url = Addresses({"": base}).url(passage)
    if url is None:
        assert f"/{document}".count("/_")
        return
    assert url.startswith(f"{base.rstrip('/')}/")
    path, _, fragment = url.removeprefix(base).partition("#")
    assert not {"..", "."} & set(path.split("/"))
    assert not set(path + fragment) & set('\\?#" <>\n\t')
    assert "//" not in path


@pytest.mark.parametrize("prefix", ["", "website/docs/"])
@pytest.mark.parametrize(
    ("page", "anchor", "url"),
    [
        ("physical-ai-foundations.md", "embodiment", "/physical-ai-foundations#embodiment"),
        ("physical-ai-foundations.md", "principle-1-embodiment", "/physical-ai-foundations#principle-1-embodiment"),
        ("index.md", "", "/"),
    ],
)
def test_the_examples_of_the_original_contract_have_its_urls(prefix: str, page: str, anchor: str, url: str) -> None:
    base, chapter = "/physical-ai-robotics-textbook/docs/", "module-1/1.1-introduction-to-physical-ai"
    passage = a_passage(document=f"{prefix}{chapter}/{page}", anchor=anchor)
    assert Addresses({"website/docs/": base, "": base}).url(passage) == f"{base}{chapter}{url}"


# Anchors must be the ones that Docusaurus writes into the page, or citations point nowhere


@pytest.mark.parametrize(
    ("title", "anchor"),
    [
        ("Getting Started", "getting-started"),
        ("  What's new in v2.0?  ", "whats-new-in-v20"),
        ("a - b", "a---b"),
        ("two  spaces", "two--spaces"),
        ("snake_case-name", "snake_case-name"),
        ("`useState(initial)`", "usestateinitial"),
        ("C++ & C#", "c--c"),
        ("Привет non-latin 你好", "привет-non-latin-你好"),
        ("Café naïve", "café-naïve"),
        ("cafe\u0301", "cafe\u0301"),
        ("हिन्दी", "हिन्दी"),
        ("😄 emoji", "-emoji"),
        ("Fast Track ⏱️", "fast-track-\ufe0f"),
        ("em\u2014dash \u2013 en", "emdash--en"),
        ("x² ½ Ⅷ ٣", "x--ⅷ-٣"),
        ("Ⓐ circled", "ⓐ-circled"),
        ("non\u00a0breaking\ttab", "nonbreakingtab"),
        ("日本語\uff08注\uff09", "日本語注"),
        ("!?", ""),
    ],
)
def test_a_title_becomes_the_anchor_that_docusaurus_builds(title: str, anchor: str) -> None:
    assert Slugger().anchor(title) == anchor


@pytest.mark.parametrize(
    ("titles", "anchors"),
    [
        (["Foo", "foo", "FOO!"], ["foo", "foo-1", "foo-2"]),
        (["Foo", "Foo 1", "Foo"], ["foo", "foo-1", "foo-2"]),
        (["Foo 1", "Foo", "Foo"], ["foo-1", "foo", "foo-2"]),
        (["Foo", "Foo", "Foo 1"], ["foo", "foo-1", "foo-1-1"]),
        (["", ""], ["", "-1"]),
    ],
)
def test_repeated_titles_are_numbered_around_those_that_exist(titles: list[str], anchors: list[str]) -> None:
    slugger = Slugger()
    assert [slugger.anchor(title) for title in titles] == anchors
