"""A site's configuration is read as text: what is written out gives URLs, everything else a reason."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.errors import BadData
from citewise.text.docusaurus import published_docs

CLASSIC = """\
// @ts-check
import {themes} from 'prism-react-renderer';
const config = {
  title: "It's tidal", // url: 'https://comment.example'
  url: 'https://harbor.example', /* baseUrl: '/no/' */
  baseUrl: "/book/",
  presets: [['classic', /** @type {import('x').Options} */ ({ docs: {DOCS}, blog: false })]],
  themeConfig: { docs: {sidebar: {hideable: true}}, footer: {links: [{url: 'https://else.example'}]} },
};
export default config;
"""
BARE = "export default {url: 'https://a.example', baseUrl: '/', presets: ['classic'], {MORE}}"


def docs_of(options: str = "{sidebarPath: './sidebars.js'}", *beside: str) -> dict[str, str]:
    return dict(published_docs(CLASSIC.replace("{DOCS}", options), beside))


def bare(more: str) -> dict[str, str]:
    return dict(published_docs(BARE.replace("{MORE}", more), ()))


@pytest.mark.parametrize(
    ("options", "docs"),
    [
        ("{}", {"docs": "https://harbor.example/book/docs/"}),
        ("{routeBasePath: '/'}", {"docs": "https://harbor.example/book/"}),
        ("{path: '../docs', routeBasePath: 'guide/'}", {"../docs": "https://harbor.example/book/guide/"}),
        ("{path: './content/', 'routeBasePath': `k/b`}", {"content": "https://harbor.example/book/k/b/"}),
        ("{routeBasePath: '/../../x y'}", {"docs": "https://harbor.example/book/x%20y/"}),
        ("{editUrl: ({docPath}) => `https://x/${docPath}`, path: 'd'}", {"d": "https://harbor.example/book/docs/"}),
    ],
)
def test_url_base_and_route_lead_to_the_docs(options: str, docs: dict[str, str]) -> None:
    assert docs_of(options) == docs


def test_a_function_that_returns_the_configuration_and_types_are_read() -> None:
    site = "{url: 'http://localhost:3000', baseUrl: '/', presets: [['classic', {docs: {}} satisfies Options]]}"
    for text in (f"module.exports = async function create() {{ const a = {{b: 1}}; return {site}; }};", f"({site})"):
        assert published_docs(text, ()) == {"docs": "http://localhost:3000/docs/"}


def test_functions_in_the_options_are_passed_over() -> None:
    edit = """({locale, docPath}) => {
      const part = locale === 'en' ? 'en' : map.get(locale) || `x/${locale}`;
      if (part !== 'en') { return `https://else.example/${part}`; }
      return {path: 'no', a: [...b, {docs: 'no'}]}.path;
    }"""
    docs = docs_of(f"{{editUrl: {edit}, path: '../docs', plugins: [[require('x'), {{sync: true}}]]}}")
    assert docs == {"../docs": "https://harbor.example/book/docs/"}


def test_each_docs_plugin_has_its_folder_and_a_preset_without_docs_has_none() -> None:
    plugin = "['@docusaurus/plugin-content-docs', {id: 'ops', path: 'ops', routeBasePath: 'runbooks'}]"
    both = {"docs": "https://a.example/docs/", "ops": "https://a.example/runbooks/"}
    assert bare(f"plugins: [require('x'), {plugin}]") == both
    alone = BARE.replace("'classic'", "['classic', {docs: false}]").replace("{MORE}", f"plugins: [{plugin}]")
    assert published_docs(alone, ()) == {"ops": "https://a.example/runbooks/"}


def test_docs_with_released_versions_are_those_of_the_next_one() -> None:
    assert docs_of("{}", "versions.json") == {"docs": "https://harbor.example/book/docs/next/"}
    assert docs_of("{}", "ops_versions.json") == docs_of("{}")


def test_a_regular_expression_does_not_confuse_the_quotes() -> None:
    assert bare(r"""x: /['"\/[/'"]/g, y: 4 / 2, z: "/'" """) == {"docs": "https://a.example/docs/"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "its url and baseUrl are not written out in one object"),
        ("x = {url, baseUrl}", "its url is not a string in quotes"),
        ("x = {url: process.env.URL || 'https://a.example', baseUrl: '/'}", "its url is not a string in quotes"),
        ("x = {url: `https://${host}`, baseUrl: '/'}", "its url is not a string in quotes"),
        (r"x = {url: 'https://a\u002eexample', baseUrl: '/'}", "its url is not a string in quotes"),
        ("x = {url: 'javascript:alert(1)', baseUrl: '/'}", "its url is not an address"),
        ("x = {url: 'https://user:word@a.example', baseUrl: '/'}", "its url is not an address"),
        ("x = {url: 'https://a.example/x?y', baseUrl: '/'}", "its url is not an address"),
        (
            "x = {url: 'https://your-docusaurus-site.example.com', baseUrl: '/'}",
            "still the one of Docusaurus' template",
        ),
        ("x = {url: 'https://a.example', baseUrl: '/\x1b[1m'}", "its baseUrl holds a control character"),
        ("x = {url: 'https://a.example', baseUrl: '/', ...others}", "not written out in one object"),
        ("x = {url: 'a', baseUrl: '/'}; y = {url: 'b', baseUrl: '/'}", "not written out in one object"),
        ("x = {url: 'https://a.example', baseUrl: '/'}", "it names no docs"),
        ("x = {url: 'https://a.example', baseUrl: '/', presets}", "it names no docs"),
        ("x = {url: 'a', baseUrl: '/'", "not written out in one object"),
        ("x = {url: 'a', baseUrl: '/'])", "its brackets do not match"),
        ("x = 'https", "a string or a regular expression without an end"),
        ("/* for ever", "not written out in one object"),
    ],
)
def test_what_is_computed_or_odd_is_no_site(text: str, reason: str) -> None:
    with pytest.raises(BadData, match=reason):
        published_docs(text, ())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("isDev ? {} : {path: 'x'}", "the docs of its preset are not written out"),
        ("options", "the docs of its preset are not written out"),
        ("{...shared}", "the options of its docs have ..., which is not read"),
        ("{numberPrefixParser: false}", "numberPrefixParser"),
        ("{path: base + 'docs'}", "its path is not a string"),
        ("{routeBasePath: route}", "its routeBasePath is not a string"),
        ("{path: '../../etc'}", "not in its folder or in one beside it"),
        ("{path: '/etc'}", "not in its folder or in one beside it"),
        ("{path: '..'}", "not in its folder or in one beside it"),
    ],
)
def test_docs_with_odd_options_are_no_site(options: str, reason: str) -> None:
    with pytest.raises(BadData, match=reason):
        docs_of(options)


def test_versions_with_options_are_no_site() -> None:
    with pytest.raises(BadData, match="versions with options"):
        docs_of("{lastVersion: 'current'}", "versions.json")


@given(st.text(st.sampled_from("{}[](),:'\"`\\/*\n ax.=$"), max_size=60))
def test_no_text_is_more_than_a_reason(text: str) -> None:
    for config in (text, CLASSIC.replace("{DOCS}", text), BARE.replace("{MORE}", text)):
        try:
            docs = published_docs(config, ())
        except BadData:
            continue
        assert all(url.startswith(("https://harbor.example/book/", "https://a.example/")) for url in docs.values())


@pytest.mark.parametrize("text", ["{", "/*", "'\\", "`\\", "a:", "/[", "(/[", ",/a", "x = {", "[["])
def test_a_hostile_text_takes_no_long_time(text: str) -> None:
    started = time.process_time()
    with pytest.raises(BadData):
        published_docs(text * (200_000 // len(text)), ())
    assert time.process_time() - started < 5
