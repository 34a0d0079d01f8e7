"""What holds of every compressed context: its budget, its words, its sources and what still speaks for them."""

import re
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from citewise.answer.compress import Compress
from citewise.answer.pack import SEPARATOR, WIDER, Pack
from citewise.model.answer import Evidence, Grounds
from citewise.model.ranking import Finding
from citewise.text.sanitizing import sanitized
from citewise.text.units import units_of
from citewise.text.urls import Addresses
from tests.fakes.counters import WordCounter
from tests.props.test_packing import findings, hostile

PACK = Pack(WordCounter(), Addresses())


@settings(max_examples=150, deadline=None)
@given(findings() | hostile, st.integers(1, 200), st.integers(1, 200), st.randoms(use_true_random=False))
def test_a_compressed_context_keeps_its_budget_and_adds_nothing(
    found: list[Finding], tokens: int, budget_tokens: int, chance: Random
) -> None:
    pack = PACK.within(budget_tokens)
    whole = PACK.within(WIDER * budget_tokens)(found)
    fits = [
        Evidence(unit, 0.5, chance.random()) for source in whole.sources for unit in units_of(source.n, source.text)
    ]
    made = Compress(tokens=tokens)("?", whole, Grounds(0.9, "answered", tuple(fits)), pack=pack)
    if made is None:
        return
    assert 0 < made[0].tokens <= budget_tokens
    assert [made[0].tokens] == WordCounter().counts([made[0].text])
    assert len(made[0].text.split(SEPARATOR)) == len(made[0].sources)
    assert [source.n for source in made[0].sources] == list(range(1, len(made[0].sources) + 1))
    originals = {source.citation.chunk_id: source.text for source in whole.sources}
    for source, block in zip(made[0].sources, made[0].text.split(SEPARATOR), strict=True):
        assert source.text == originals[source.citation.chunk_id]
        said = iter(re.findall(r"\w+", sanitized(source.text)))  # without invisible characters
        shown = re.findall(r"\w+", block.partition("\n")[2])
        assert all(any(word == other for other in said) for word in shown)
    assert {one.unit.source for one in made[1].evidence} <= {source.n for source in made[0].sources}
