"""Small pure rules: path facts, filters, ids."""

import pytest

from citewise.model.access import Reader, Scope
from citewise.model.chunk import chunks_of
from citewise.model.document import PathRule, path_facts
from citewise.model.filters import AnyOf, Between, Label, Where
from citewise.model.ids import chunk_id, document_id
from tests.builders import SCOPE, a_document, a_piece


@pytest.mark.parametrize(
    ("path", "module", "chapter", "corpus", "content"),
    [
        ("module-1/1.1-intro/page.md", "module-1", "1.1-intro", "DOC_TEXTBOOK", "prose"),
        ("module-1/1.1-intro/lab-exercises.md", "module-1", "1.1-intro", "DOC_TEXTBOOK", "lab"),
        ("module-2/quiz.md", "module-2", "Unknown", "DOC_TEXTBOOK", "quiz"),
        ("assessments.md", "Unknown", "Unknown", "DOC_PAGE", "assessment"),
        ("runbooks/disk-full.md", "runbooks", "Unknown", "DOC_RUNBOOK", "prose"),
        ("tools/README.md", "tools", "Unknown", "DOC_README", "prose"),
        ("guides/collaboration.md", "guides", "Unknown", "DOC_PAGE", "prose"),
        ("guides/syllabus.md", "guides", "Unknown", "DOC_PAGE", "prose"),
    ],
)
def test_paths_tell_module_chapter_and_types(path: str, module: str, chapter: str, corpus: str, content: str) -> None:
    facts = path_facts(path)
    assert (facts.module, facts.chapter, facts.corpus_type, facts.content_type) == (module, chapter, corpus, content)


def test_path_rules_can_be_replaced() -> None:
    rules = (PathRule(r"^(?P<chapter>[^/]+)/", {"module": "all"}),)
    facts = path_facts("one/two.md", rules)
    assert (facts.module, facts.chapter) == ("all", "one")


def test_ids_depend_on_every_part_and_on_nothing_else() -> None:
    base = chunk_id(SCOPE, "a.md", anchor="x", ordinal=0)
    assert base == chunk_id(SCOPE, "a.md", anchor="x", ordinal=0)
    others = {
        chunk_id(Scope("acme", "other"), "a.md", anchor="x", ordinal=0),
        chunk_id(SCOPE, "b.md", anchor="x", ordinal=0),
        chunk_id(SCOPE, "a.md", anchor="y", ordinal=0),
        chunk_id(SCOPE, "a.md", anchor="x", ordinal=1),
    }
    assert len({base, *others}) == 5
    assert len(base) == len(document_id(SCOPE, "a.md")) == 16


def test_a_where_needs_every_condition_and_any_value() -> None:
    where = Where(SCOPE, frozenset({Reader("public")}), (AnyOf("tags", frozenset({"a", "b"})), Between("time", 1, 2)))
    seen = {Label("access=public"), Label("tags=b")}
    assert where.admits(seen, {"time": 1.0})
    assert not where.admits(seen, {"time": 3.0})
    assert not where.admits(seen, {})
    assert not where.admits({Label("tags=b")}, {"time": 1.0})
    assert not where.admits({Label("access=public")}, {"time": 1.0})
    assert Where(SCOPE, None).admits(set(), {})


def test_labels_say_what_filters_may_ask() -> None:
    (chunk,) = chunks_of(a_document("guide/a.md"), (a_piece("words"),))
    assert {"document=guide/a.md", "tags=tide", "access=project", "metadata.draft=false"} <= chunk.labels
    assert chunk.numbers == {"metadata.sidebar_position": 2.0}


def test_a_line_number_is_no_reason_to_index_again() -> None:
    document = a_document("a.md")
    here, there = chunks_of(document, (a_piece("same"), a_piece("same", ordinal=0)))
    assert here.position != there.position
    assert here.fingerprint == there.fingerprint
