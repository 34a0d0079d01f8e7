"""The library's own key: one for all processes, for its owner's eyes alone."""

import multiprocessing
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewise.adapters.folder.key import KEY_BYTES, LibraryKey


def test_a_key_is_made_at_the_first_need_and_stays(tmp_path: Path) -> None:
    key = LibraryKey(tmp_path)
    assert not (tmp_path / "key").exists()
    made = key.secret()
    assert len(made.key) == KEY_BYTES
    assert made == key.secret() == LibraryKey(tmp_path).secret()
    assert (made.key, made.is_shared) == ((tmp_path / "key").read_bytes(), True)


def test_nobody_but_its_owner_can_read_it(tmp_path: Path) -> None:
    LibraryKey(tmp_path).secret()
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_two_libraries_have_two_keys(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    assert LibraryKey(tmp_path / "one").secret().key != LibraryKey(tmp_path / "other").secret().key


def _secret(folder: Path) -> bytes:
    return LibraryKey(folder).secret().key


def test_processes_that_make_it_at_once_agree(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for turn in range(20):
            folder = tmp_path / str(turn)
            folder.mkdir()
            assert len(set(pool.map(_secret, [folder] * 4, chunksize=1))) == 1


def test_a_key_whose_making_was_stopped_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    assert LibraryKey(tmp_path).secret().key == (tmp_path / "key").read_bytes() != b""


@pytest.mark.parametrize("damage", [b"short", bytes(KEY_BYTES + 1)])
def test_a_damaged_key_is_left_alone_and_one_of_this_process_is_used(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "key").write_bytes(damage)
    secret = LibraryKey(tmp_path).secret()
    assert (len(secret.key), secret.is_shared) == (KEY_BYTES, False)
    assert (tmp_path / "key").read_bytes() == damage
    assert caplog.text.count("is damaged") == 1


def test_a_key_is_not_printed_with_what_holds_it(tmp_path: Path) -> None:
    secret = LibraryKey(tmp_path).secret()
    assert repr(secret.key) not in repr(secret)


def test_where_no_key_can_be_made_it_is_one_of_this_process(tmp_path: Path) -> None:
    key = LibraryKey(tmp_path / "not-there")
    with ThreadPoolExecutor(4) as threads:
        secrets = set(threads.map(lambda _: key.secret(), range(20)))
    assert [one.is_shared for one in secrets] == [False]
    assert secrets != {LibraryKey(tmp_path / "not-there").secret()}
