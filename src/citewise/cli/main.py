"""The entry point of the command line: every foreseen error becomes one line and an exit code."""

import errno
import io
import logging
import os
import signal
import sys

import click

from citewise.cli import eval, ingest, insights, maintenance, search  # noqa: F401  they add their commands
from citewise.cli.options import app
from citewise.cli.output import printable
from citewise.errors import CitewiseError

__all__ = ["app", "main"]


# What is safe after Ctrl-C, and how to go on, by command; the others change nothing.
_STOPPED = {
    "ingest": "what was stored stays and can be searched; run the same command again to go on with the rest",
    "--watch": "all changes until now are stored or will be found by the next `citewise ingest`",
    "demo": "what was stored stays; run the same command again to go on with the rest",
    "reindex": "the library is as it was and can be searched; run `citewise reindex` again to go on",
    "compact": "nothing is lost; run `citewise compact` again to reclaim the rest",
    "eval": "there is no result; documents of the set that were ingested stay",
}


def main() -> None:
    try:
        code = _exit_code()
    except (KeyboardInterrupt, click.Abort):
        command = "--watch" if "--watch" in sys.argv else "".join(sys.argv[1:2])
        code = _failed(f"stopped; {_STOPPED.get(command, 'nothing was changed')}", 130)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # from here on it ends the process at once, without a traceback
    sys.exit(code)


def _exit_code() -> int:
    logging.basicConfig(level=logging.WARNING, format="citewise: %(message)s", stream=sys.stderr)
    _make_writable()
    try:
        try:
            return int(app.main(standalone_mode=False) or 0)
        finally:
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except CitewiseError as error:
        return _failed(str(error), error.exit_code)
    except MemoryError:
        return _failed("there is not enough memory: close other programs, or raise `ulimit -v`", 4)
    except OSError as error:
        return _os_error(error)


def _failed(message: str, code: int) -> int:
    sys.stderr.write(printable(f"citewise: {message}\n"))
    return code


def _os_error(error: OSError) -> int:
    """An error that names no file is one of the output; a closed pipe needs no message."""
    if error.filename is not None:
        advice = {errno.EACCES: "change its mode, or run as its owner", errno.ENOSPC: "free some space on the disk"}
        path = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
        return _failed(f"cannot use {path}: {error.strerror}; {advice.get(error.errno or 0, 'check the path')}", 4)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more can be written there
    return 1 if isinstance(error, BrokenPipeError) else _failed(f"cannot write the output: {error.strerror}", 1)


def _make_writable() -> None:
    """Output that cannot be shown here shall not end a command: closed streams swallow it, odd encodings get a "?"."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  for as long as the process lives
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
