"""The command `citewise`, also as `python -m citewise`."""

import os
import signal
import threading
from types import FrameType

_AGAIN_SECONDS = 0.02


def main() -> None:
    """Import the commands, which takes some tenths of a second, and run one. Ctrl-C is no traceback even then."""
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as a shell has it for jobs in the background
    if not is_ignored:
        signal.signal(signal.SIGINT, _leave)
    from citewise.cli.main import main as run

    if not is_ignored:
        signal.signal(signal.SIGINT, _interrupt)
    run()


def _leave(*_: object) -> None:
    os.write(2, b"\ncitewise: stopped before anything was done\n")
    os._exit(130)  # nothing is open yet, and an exception could be lost in an import


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but not inside an import, where it would be lost or leave a lock behind."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            again = threading.Timer(_AGAIN_SECONDS, os.kill, [os.getpid(), signum])
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
