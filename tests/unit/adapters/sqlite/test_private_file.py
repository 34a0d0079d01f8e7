"""Files that are for their owner's eyes alone from the moment they are there."""

import stat
from pathlib import Path

import pytest

from citewise.adapters.sqlite.connections import PrivateFile


def create_private(file: Path) -> None:
    PrivateFile(file, tables="", version=1, read_seconds=1.0, write_seconds=1.0).create()


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_a_file_is_made_empty_and_for_nobody_else(tmp_path: Path) -> None:
    create_private(tmp_path / "file")
    assert ((tmp_path / "file").read_bytes(), mode_of(tmp_path / "file")) == (b"", 0o600)


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"words")
    (tmp_path / "file").chmod(0o644)
    create_private(tmp_path / "file")
    assert ((tmp_path / "file").read_bytes(), mode_of(tmp_path / "file")) == (b"words", 0o644)


def test_where_a_link_leads_is_private_too(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    create_private(tmp_path / "link")
    assert mode_of(tmp_path / "target") == 0o600


def test_a_place_that_takes_no_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        create_private(tmp_path / "missing" / "file")
