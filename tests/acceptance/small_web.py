"""A small web on loopback for tests: pages in a tree with cross links, slow on demand."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import shake_256

from tests.threaded_server import QuietHandler, answering

ROBOTS = b"User-agent: *\nDisallow: /private/\n"


@dataclass
class SmallWeb:
    """``pages`` pages: page k links to 2k + 1 and 2k + 2, to a private one and to the first."""

    pages: int
    page_bytes: int = 2000
    random_bytes: int = 0
    """Of a page: they do not compress."""
    seconds_per_page: float = 0.0
    held_after: int | None = None
    """So many requests are answered (one or two more, where they come together), and others when
    this is None: what is to be interrupted cannot come to its end before."""
    status: int = 200
    """Of all that is there."""
    robots: bytes = ROBOTS
    asked: Counter[str] = field(default_factory=Counter)
    asked_at: list[float] = field(default_factory=list)
    """By the monotonic clock."""
    most_at_once: int = 0
    """Requests that were being answered."""
    served: list[tuple[float, int]] = field(default_factory=list)
    """When, by the monotonic clock, and how many bytes of body."""
    port: int = 0

    @property
    def seed(self) -> str:
        return f"http://127.0.0.1:{self.port}/0.html"

    @property
    def urls(self) -> set[str]:
        return {f"http://127.0.0.1:{self.port}/{k}.html" for k in range(self.pages)}

    def body(self, path: str) -> bytes | None:
        if path == "/robots.txt":
            return self.robots
        name = path.removeprefix("/").removesuffix(".html")
        if not name.isdigit() or int(name) >= self.pages:
            return None
        links = [k for k in (2 * int(name) + 1, 2 * int(name) + 2) if k < self.pages]
        anchors = "".join(f'<a href="/{k}.html">{k}</a>' for k in [*links, 0])
        head = f"<title>Page {name}</title>{anchors}<a href=/private/x.html>no</a>"
        noise = shake_256(name.encode()).hexdigest(self.random_bytes)
        return f"{head}{noise}".encode().ljust(self.page_bytes, b".")


@contextmanager
def serving(web: SmallWeb) -> Iterator[SmallWeb]:
    lock = threading.Lock()
    under_way: list[str] = []

    class Handler(QuietHandler):
        def answer(self) -> None:
            if self.path == "/sitemap.xml":  # looked for once by every crawl, and not there
                self.send_error(404)
                return
            web.asked[self.path] += 1
            web.asked_at.append(time.monotonic())
            with lock:
                under_way.append(self.path)
                web.most_at_once = max(web.most_at_once, len(under_way))
            time.sleep(web.seconds_per_page)
            while web.held_after is not None and len(web.served) >= web.held_after:
                time.sleep(0.01)
            with lock:
                under_way.remove(self.path)
            body = web.body(self.path)
            etag = f'"{self.path}"'
            unchanged = body is not None and self.headers.get("If-None-Match") == etag
            found = web.status if self.path != "/robots.txt" else 200
            self.send_response(304 if unchanged else 404 if body is None else found)
            self.send_header("Content-Type", "text/html")
            self.send_header("ETag", etag)
            self.send_header("Content-Length", str(0 if unchanged else len(body or b"")))
            self.end_headers()
            web.served.append((time.monotonic(), 0 if unchanged else len(body or b"")))
            if not unchanged:
                self.wfile.write(body or b"")

    with answering(Handler) as web.port:
        try:
            yield web
        finally:
            web.held_after = None
