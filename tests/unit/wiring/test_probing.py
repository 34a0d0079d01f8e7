"""A doctor's visit that cannot be made is a finding, not a failure of the doctor."""

from pathlib import Path

from citewise.settings import Settings
from citewise.wiring.guarding import Guards
from citewise.wiring.probing import store_checks


def test_a_store_that_cannot_be_opened_is_a_check_that_says_so(tmp_path: Path) -> None:
    settings = Settings(library=tmp_path / "nowhere")
    (check,) = store_checks(settings, Guards(settings.guard))
    assert check.name == "breakers of the store"
    assert check.detail.startswith("not asked: there is no library at ")
    assert not check.is_ok
