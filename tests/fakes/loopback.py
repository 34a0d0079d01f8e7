"""What every fake server on loopback needs: a free port, a thread, and an end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from threading import Thread


@contextmanager
def listening(listener: ThreadingHTTPServer, *, release: Callable[[], None]) -> Iterator[str]:
    """The address at which the listener answers, for as long as the block lasts; `release` lets hanging replies go."""
    listener.daemon_threads = True
    thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_address[1]}"
    finally:
        release()
        listener.shutdown()
        listener.server_close()
        thread.join()
