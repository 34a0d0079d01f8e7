"""Files for their owner's eyes alone: shared ground of the adapters that keep what people asked, no adapter."""

import os
import threading
from contextlib import suppress
from pathlib import Path

MODE = 0o600  # SQLite gives what it keeps beside a database the mode of that

# Closing a file gives up the locks that this process has on it, also those of SQLite in another thread. So nobody here
# goes on to open a file while it is being made; and a fork waits too, or its child could do so forever.
_making = threading.Lock()
os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release)


def make_private(file: Path) -> None:
    """Make the file, empty, unless there is one already: that stays as it is, whoever may read it."""
    target = os.path.realpath(file)  # O_EXCL takes a link for the file, also one that leads to none yet
    with _making, suppress(FileExistsError):
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE))
