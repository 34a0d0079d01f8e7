"""Nobody finds what they may not read, and everybody finds what they may: search against a plain oracle."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from citewise.ingest.targets import IngestOptions
from citewise.model.access import Access, Principal
from tests.pipelines.harness import Shelf

WORDS = ("tide", "ferry", "gauge", "nets", "quay")
RULES = ("public", "project", "owner:ann", "owner:bob", "group:ops", "group:crew")

rules = st.sets(st.sampled_from(RULES), min_size=1, max_size=2)
documents = st.lists(st.tuples(rules, st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)), min_size=1, max_size=8)
principals = st.builds(
    Principal,
    st.sampled_from([None, "ann", "bob", "eve"]),
    st.frozensets(st.sampled_from(["ops", "crew"])),
    owns_library=st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(documents, principals, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
def test_a_search_finds_exactly_what_the_reader_may_see(
    written: list[tuple[set[str], list[str]]], principal: Principal, asked: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as home:
        shelf = Shelf(Path(home))
        for at, (some, words) in enumerate(written):
            # A word of its own keeps two documents from saying the same.
            file = shelf.write(f"page-{at}.md", f"# Page {at}\n\n{' '.join(words)} number{at}.\n")
            shelf.ingest(file, IngestOptions(access=tuple(some), widen=True))
        found = shelf.search(" ".join(asked), principal=principal, top_k=100)
    seen = {finding.passage.document for finding in found.findings}
    named = {dropped.candidate.id for dropped in found.dropped}
    assert seen == {f"page-{at}.md" for at, (some, _) in enumerate(written) if may_read(principal, some)}
    assert not named


def may_read(principal: Principal, some: set[str]) -> bool:
    """The rule in plain words, written apart from the product's own."""
    if principal.owns_library or "public" in some:
        return True
    is_named = principal.user is not None or bool(principal.groups)
    return (
        ("project" in some and is_named)
        or f"owner:{principal.user}" in some
        or any(f"group:{group}" in some for group in principal.groups)
    )


def test_the_oracle_knows_the_rules_that_there_are() -> None:
    assert Access.of(RULES).readers == set(RULES)
