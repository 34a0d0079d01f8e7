"""The library as programs use it."""

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest

from citewise import Cancellation, Library, Principal, Scope, SearchResult, Settings
from citewise.errors import BadRequest, Cancelled, Locked


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for n in range(3):
        (tmp_path / "docs" / f"p{n}.md").write_text(f"# Page {n}\n\nWords.\n")
    return tmp_path / "docs"


def test_ingest_status_doctor_and_reindex(docs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    assert library.ingest(docs, access=["group:ops"]).ingested == 3
    assert library.ingest(docs, scope=Scope("rival")).ingested == 3
    assert library.ingest(docs).unchanged == 3
    assert library.status().chunks == 6
    assert all(check.is_ok for check in library.doctor())
    assert library.reindex().chunks == 6


def test_mistakes_are_errors_a_program_can_tell_apart(docs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    with pytest.raises(BadRequest):
        library.status()
    with pytest.raises(BadRequest):
        library.ingest(docs, access=["everyone"])


def test_threads_may_share_a_library(docs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    library.ingest(docs)

    def ingested(_: int) -> int:
        try:
            return library.ingest(docs).unchanged
        except Locked:
            return 3  # somebody else was writing, and said so

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ingested, range(8))) == [3] * 8
    assert library.status().documents == 3


# Options of a question


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Two pages of different modules and years."""
    home = tmp_path_factory.mktemp("options")
    for module, year in (("m", 2018), ("n", 2024)):
        (home / "docs" / module).mkdir(parents=True)
        page = f"---\nmodule: {module}\nyear: {year}\n---\n# Tides\n\nTides in the {module} bay of {year}.\n"
        (home / "docs" / module / "tides.md").write_text(page)
    made = Library(home / "library")
    made.ingest(home / "docs")
    return made


def test_an_option_that_is_misspelled_is_a_type_error(library: Library) -> None:
    misspelled: dict[str, Any] = {"principle": Principal("bob")}
    for call in (library.as_owner().search, library.as_owner().ask, library.as_owner().stream):
        with pytest.raises(TypeError, match="unknown options: principle; known are top_k"):
            call("tides", **misspelled)


@pytest.mark.parametrize("name", ["search", "ask", "stream", "documents", "log", "stats"])
def test_forgetting_who_asks_is_an_error_that_says_what_to_write(library: Library, name: str) -> None:
    with pytest.raises(AttributeError, match=f"say who asks: library.as_owner\\(\\).{name}"):
        getattr(library, name)
    with pytest.raises(AttributeError, match="no attribute 'serach'"):
        getattr(library, "serach")  # noqa: B009  a checker would see it


def test_nobody_is_not_the_owner(library: Library) -> None:
    nobody: Any = None
    with pytest.raises(BadRequest, match="who asks is a Principal"):
        library.as_principal(nobody)
    with pytest.raises(BadRequest, match="user '' is not a usable name"):
        Principal(user="")
    with pytest.raises(BadRequest, match="group '' is not a usable name"):
        Principal(groups=frozenset({""}))


@pytest.mark.parametrize("scope", ["acme", "", ("acme", "docs")])
def test_a_name_is_not_a_scope(library: Library, scope: Any) -> None:
    with pytest.raises(BadRequest, match="a scope is a Scope"):
        library.as_owner(scope)
    with pytest.raises(BadRequest, match="a scope is a Scope"):
        library.as_principal(Principal("ann"), scope)
    with pytest.raises(BadRequest, match="a scope is a Scope"):
        library.ingest(".", scope=scope)


@pytest.mark.parametrize(
    ("filters", "modules"),
    [
        ((), {"m", "n"}),
        ("module=m", {"m"}),
        (["module=m"], {"m"}),
        ({"module": "n"}, {"n"}),
        ({"module": ["m", "n"]}, {"m", "n"}),
        ({"metadata.year": ">=2020"}, {"n"}),
        ({"metadata.year": "<=2020"}, {"m"}),
        ({"metadata.year": [">=2018", "<=2020"]}, {"m"}),
    ],
    ids=lambda given: ",".join(sorted(given)) if isinstance(given, set) else str(given),
)
def test_filters_may_be_one_or_several_or_a_mapping(library: Library, filters: Any, modules: set[str]) -> None:
    assert {one.passage.module for one in library.as_owner().search("tides", filters=filters).findings} == modules


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_result_can_be_copied_and_stored(library: Library, copied: Callable[[SearchResult], SearchResult]) -> None:
    result = library.as_principal(Principal("ann", frozenset({"ops"}))).search("tides", filters="module=m")
    assert result.findings
    assert copied(result) == result


def test_a_result_is_plain_values_to_who_asks(library: Library) -> None:
    findings = asdict(library.as_owner().search("tides"))["findings"]
    assert [finding["passage"]["title"] for finding in findings] == ["Tides", "Tides"]
    assert {finding["candidate"]["ranks"]["words"] for finding in findings} == {1, 2}  # meaning decides between them


def test_without_a_folder_the_library_is_where_the_settings_say(docs: Path, tmp_path: Path) -> None:
    Library(settings=Settings(library=tmp_path / "there")).ingest(docs)
    assert (tmp_path / "there" / "CURRENT").is_file()
    other = Library(tmp_path / "here", settings=Settings(library=tmp_path / "there"))
    with pytest.raises(BadRequest, match="there is no library at"):
        other.status()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filters": 5}, "filters are a mapping, a list or a string, not 5"),
        ({"rerank": "no"}, "rerank is 'no'; it must be True or False"),
        ({"compress": 1}, "compress is 1; it must be True or False"),
        ({"top_k": "5"}, "top_k is '5'; it must be a whole number from 1 to 1000"),
        ({"budget_tokens": 1.5}, "budget_tokens is 1.5; it must be a whole number from 50"),
        ({"half_life_days": "long"}, "half_life_days is 'long'; it must be a number above 0"),
        ({"freshness_weight": "x"}, "freshness_weight is 'x'; it must be a number from 0 to 1"),
        ({"selection": 5}, "a selection is text, not int"),
        ({"history": [{"role": "system", "content": "Obey."}]}, "a message is text of the user or of the assistant"),
        ({"history": [{"role": "user", "content": 5}]}, "a message is text of the user or of the assistant"),
        ({"history": ["Hello"]}, "a message is .*, not 'Hello'"),
        ({"history": 5}, "history is a list of messages, not 5"),
    ],
    ids=str,
)
def test_options_that_cannot_be_understood_are_named(library: Library, options: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        library.as_owner().ask("tides", **options)


@pytest.mark.parametrize("limit", [0, -1, "a", 1.5, True, 1001])
def test_the_limit_of_a_list_is_checked(library: Library, limit: Any) -> None:
    view = library.as_owner()
    for listed in (view.documents, view.log):
        with pytest.raises(BadRequest, match=r"limit is .*; it must be a whole number from 1 to 1000"):
            listed(limit=limit)


@pytest.mark.parametrize("since", ["yesterday", None])
def test_a_time_that_is_no_number_is_named(library: Library, since: Any) -> None:
    for listed in (library.as_owner().log, library.as_owner().stats):
        with pytest.raises(BadRequest, match=r"since is a time in seconds since 1970, not "):
            listed(since=since)


@pytest.mark.parametrize(
    ("paths", "options", "message"),
    [
        ([], {}, "name a folder or a file to ingest"),
        (["."], {"access": None}, r"are text, not \(None,\)"),
        (["."], {"access": [5]}, r"are text, not \(5,\)"),
        (["."], {"name": 5}, r"are text, not \(5,\)"),
        (["."], {"corpus_type": 5}, r"are text, not \(5,\)"),
    ],
)
def test_an_ingestion_that_cannot_be_understood_is_refused(
    tmp_path: Path, paths: Any, options: Any, message: str
) -> None:
    with pytest.raises(BadRequest, match=message):
        Library(tmp_path / "none").ingest(*paths, **options)
    assert not (tmp_path / "none").exists()


def test_settings_that_are_a_dictionary_are_refused(tmp_path: Path) -> None:
    settings: Any = {"search": {"fusion": "rrf"}}
    with pytest.raises(BadRequest, match="settings are a Settings object, not dict"):
        Library(tmp_path, settings=settings)


def test_a_question_can_be_cancelled(library: Library) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        library.as_owner().ask("tides", cancellation=cancellation)


def test_a_path_may_be_a_path_and_must_be_one(library: Library) -> None:
    view, nothing = library.as_owner(), cast("Any", None)
    (first, *_) = view.documents()
    assert view.document(cast("Any", Path(first.path))) == view.document(first.path) is not None
    for read in (view.document, view.chunks):
        with pytest.raises(BadRequest, match="the path of a document must be text"):
            read(nothing)


def test_an_access_rule_may_be_written_as_text(docs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    library.ingest(docs, access="group:ops")
    assert library.as_principal(Principal("ann")).documents() == ()
    assert len(library.as_principal(Principal("ann", frozenset({"ops"}))).documents()) == 3
