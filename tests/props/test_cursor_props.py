"""Whatever is handed in as a cursor, it is refused in words unless this library wrote it."""

import contextlib
import string

from hypothesis import given
from hypothesis import strategies as st

from citewise.errors import BadRequest
from citewise.model.paging import Cursor, HeldId, Seal

ALPHABET = string.ascii_letters + string.digits + "-_"

keys = st.binary(min_size=32, max_size=32)
cursors = st.builds(
    Cursor,
    st.binary(min_size=16, max_size=16).map(HeldId),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.floats(min_value=0.0),
    st.binary(min_size=16, max_size=16),
)


def is_read(seal: Seal, text: str) -> bool:
    with contextlib.suppress(BadRequest):
        seal.read(text)
        return True
    return False


@given(keys, cursors)
def test_every_cursor_is_read_back(key: bytes, cursor: Cursor) -> None:
    assert Seal(key).read(Seal(key).written(cursor)) == cursor


@given(keys, st.one_of(st.text(), st.text(ALPHABET, min_size=112, max_size=112).map("c".__add__)))
def test_no_made_up_text_passes(key: bytes, text: str) -> None:
    assert not is_read(Seal(key), text)


@given(keys, cursors, st.integers(0, 112), st.sampled_from(ALPHABET))
def test_no_changed_letter_passes(key: bytes, cursor: Cursor, at: int, letter: str) -> None:
    written = Seal(key).written(cursor)
    changed = written[:at] + letter + written[at + 1 :]
    assert is_read(Seal(key), changed) == (changed == written)


@given(keys, keys, cursors)
def test_no_other_key_reads_it(key: bytes, other: bytes, cursor: Cursor) -> None:
    assert is_read(Seal(other), Seal(key).written(cursor)) == (other == key)


@given(keys, cursors, cursors)
def test_halves_of_two_cursors_make_none(key: bytes, one: Cursor, other: Cursor) -> None:
    seal = Seal(key)
    mixed = seal.written(one)[:45] + seal.written(other)[45:]
    assert is_read(seal, mixed) == (one == other)
