"""What the demo proposes next can be read at a glance."""

import pytest

from citewise.cli.ingest import _hints


@pytest.mark.parametrize("library", [".d", "'a much longer place/for the demo'"])
def test_what_is_said_of_commands_stands_in_one_column(library: str) -> None:
    lines = [line for line in _hints("citewise", library).splitlines() if "#" in line]
    assert len(lines) == 3
    assert len({line.index("#") for line in lines}) == 1
