"""What a process must not have for a file's permissions to count."""

import os
import shutil

import pytest


def without_privileges() -> list[str]:
    """What stands before a command, so that it may write only where permissions let it: root may everywhere."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("run as root without setpriv: nothing is read-only then")
    return [setpriv, "--bounding-set=-dac_override,-dac_read_search"]
