"""What holds for every test: no sockets unless it says so, and the same random examples in CI each time."""

import os
import socket
from typing import NoReturn

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(autouse=True)
def _sockets_are_shut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("server") is None:
        monkeypatch.setattr(socket.socket, "connect", _refuse)
        monkeypatch.setattr(socket.socket, "bind", _refuse)


def _refuse(refused: socket.socket, *_: object) -> NoReturn:
    refused.close()
    raise AssertionError("this test opens a socket; mark it `server` if it must")
