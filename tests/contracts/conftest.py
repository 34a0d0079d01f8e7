"""What several contracts of remote models need."""

import pytest


@pytest.fixture
def waits() -> list[float]:
    """The seconds between tries, which nobody waits."""
    return []
