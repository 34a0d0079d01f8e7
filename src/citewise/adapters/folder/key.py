"""The library's own key: 32 random bytes beside its generations, with which it signs what it hands out."""

import fcntl
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

_log = logging.getLogger(__name__)

KEY_BYTES = 32
MODE = 0o600  # for the owner alone


@dataclass(frozen=True, slots=True)
class Secret:
    """A key as it was at one moment."""

    key: bytes = field(repr=False)
    is_shared: bool  # whether other processes have the same


class LibraryKey:
    """A library's key: made at the first need, the same in every process that may read it.

    Where it can neither be read nor made, it is a key of this process only: what is signed with it is worth nothing
    to another. It never fails a question.
    """

    def __init__(self, folder: Path, *, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self.file = folder / "key"
        self._random_bytes = random_bytes
        self._lock = threading.Lock()
        self._own: bytes | None = None

    def secret(self) -> Secret:
        """Read anew each time: the folder may have become another library's."""
        shared = self._shared()
        return Secret(self._of_this_process(), is_shared=False) if shared is None else Secret(shared, is_shared=True)

    def is_damaged(self) -> bool:
        """Whether there is a file that holds no key. Nothing is made; OSError where it cannot be read."""
        found = self._read()
        return found is not None and len(found) != KEY_BYTES

    def _shared(self) -> bytes | None:
        """The key in the file; None if there is none to be had."""
        try:
            found = self._read() or self._made()
        except PermissionError:
            return None  # another's library, as its owner meant it
        except OSError as error:
            _log.warning("cannot use the library's key %s: %s", self.file, error.strerror)
            return None
        if len(found) != KEY_BYTES:
            _log.warning("%s is damaged: restore it, or remove it to have a new one made", self.file)
            return None
        return found

    def _read(self) -> bytes | None:
        """What the file holds; None if there is none, or if it is just being made."""
        try:
            with self.file.open("rb") as opened:
                return opened.read(KEY_BYTES + 1) or None
        except FileNotFoundError:
            return None

    def _made(self) -> bytes:
        """Written by one process while it holds the file; another that comes meanwhile waits and reads it."""
        handle = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            found = os.read(handle, KEY_BYTES + 1)
            if not found:
                found = self._random_bytes(KEY_BYTES)
                os.write(handle, found)
                os.fsync(handle)
            return found
        finally:
            os.close(handle)

    def _of_this_process(self) -> bytes:
        with self._lock:
            if self._own is None:
                self._own = self._random_bytes(KEY_BYTES)
            return self._own
