"""A real HTTP server on loopback, in threads of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["QuietHandler", "answering"]


class QuietHandler(BaseHTTPRequestHandler):
    """Says nothing to the terminal; ``answer`` is for whoever derives from it."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        self.answer()

    def log_message(self, *_: object) -> None: ...


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler], address: str = "127.0.0.1") -> Iterator[int]:
    """Its port. Looks often whether it is to end: half a second each time is minutes over all."""
    server = ThreadingHTTPServer((address, 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
