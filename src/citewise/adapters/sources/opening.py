"""Opening files below a root so that nothing swapped in meanwhile can lead out of it or make the reader hang.

Every folder on the way is opened by its own name, following no link. A link at the very end is resolved once,
checked to stay below the root, and its target is then reached in the same way.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from citewise.model.errors import BadData

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe without a writer must not block


def plain_reason(error: OSError) -> str:
    """Why the operating system said no, in words."""
    return (error.strerror or type(error).__name__).lower()


def is_below(path: str, folder: str) -> bool:
    """Whether a resolved path is the folder or lies inside it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def read_below(root: str, path: str, *, limit: int) -> bytes:
    """The bytes of a regular file below root, at most `limit` of them; BadData gives the reason if not."""
    try:
        with _opened(root, path) as descriptor:
            return _bytes_of(descriptor, limit)
    except OSError as error:
        raise BadData(f"cannot be read: {plain_reason(error)}") from error


@contextmanager
def _opened(root: str, path: str) -> Iterator[int]:
    try:
        descriptor = _descended(root, path)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        descriptor = _descended(root, _target_below(root, path))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _descended(root: str, path: str) -> int:
    *folders, name = path.split("/")
    at = os.open(root, _FOLDER)
    try:
        for folder in folders:
            deeper = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = deeper
        return os.open(name, _FILE, dir_fd=at)
    finally:
        os.close(at)


def _target_below(root: str, path: str) -> str:
    top = os.path.realpath(root)
    target = os.path.realpath(os.path.join(top, path), strict=True)
    if not is_below(target, top):
        raise BadData("symbolic link out of the source")
    return os.path.relpath(target, top)


def _bytes_of(descriptor: int, limit: int) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise BadData("not a regular file")
    with open(descriptor, "rb", buffering=0, closefd=False) as file:
        data = file.read(min(status.st_size, limit) + 1)
        while len(data) <= limit and (more := file.read(limit + 1 - len(data))):
            data += more
    if len(data) > limit:
        raise BadData(f"has grown beyond the limit of {limit} bytes since it was found")
    return data
