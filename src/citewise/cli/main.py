"""The entry point of the command line: every foreseen error becomes one line and an exit code."""

import errno
import io
import logging
import os
import sys

import click

from citewise.cli import eval, ingest, insights, maintenance, search  # noqa: F401  they add their commands
from citewise.cli.options import app
from citewise.cli.output import printable
from citewise.errors import CitewiseError

__all__ = ["app", "main"]


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="citewise: %(message)s", stream=sys.stderr)
    _make_writable()
    try:
        try:
            code = app.main(standalone_mode=False)
        finally:
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except CitewiseError as error:
        code = _failed(str(error), error.exit_code)
    except click.Abort:
        code = _failed("stopped; ingested documents are stored, and the same command continues", 130)
    except OSError as error:
        code = _os_error(error)
    sys.exit(code)


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
