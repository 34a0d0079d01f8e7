"""Every campaign draws from one seed, which is printed at its start and with every failure."""

import random
import sys
from collections.abc import Generator

import pytest

from tests.campaigns.size import SEED, repeating


@pytest.fixture(autouse=True)
def _the_size_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that a campaign starts would read CITEWISE_SOAK as a setting, and refuse it."""
    for name in ("CITEWISE_SOAK", "CITEWISE_SEED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> random.Random:
    """The randomness of one test: by the seed and the test's name, so that it can be repeated alone."""
    sys.stdout.write(f"\n{request.node.name}: CITEWISE_SEED={SEED}\n")
    return random.Random(f"{SEED} {request.node.name}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        report.sections.append(("to repeat it", repeating(item.nodeid)))
    return report
