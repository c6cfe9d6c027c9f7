"""A small web on loopback whose pages come, go, fail and change between two crawls of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b

from tests.threaded_server import QuietHandler, answering


@dataclass
class ChangingWeb:
    """Change what you like between two crawls."""

    links: Mapping[str, Sequence[str]]
    """Of each page that exists, by path."""
    answers: Mapping[str, int] = field(default_factory=dict)
    """Pages with another status than 200."""
    validators: bool = True
    seconds_per_page: float = 0.0
    asked: Counter[str] = field(default_factory=Counter)
    """Paths asked for since somebody cleared it."""
    port: int = 0

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def answer(self, path: str) -> tuple[int, bytes]:
        if path not in self.links:
            return 404, b"nothing here"
        anchors = "".join(f'<a href="{target}">x</a>' for target in self.links[path])
        return self.answers.get(path, 200), f"<title>{path}</title>{anchors}".encode()


@contextmanager
def serving(web: ChangingWeb) -> Iterator[ChangingWeb]:
    class Handler(QuietHandler):
        def answer(self) -> None:
            if self.path == "/sitemap.xml":  # looked for once by every crawl, and not there
                self.send_error(404)
                return
            web.asked[self.path] += 1
            if self.path != "/robots.txt":
                time.sleep(web.seconds_per_page)
            status, body = web.answer(self.path)
            etag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
            if web.validators and status == 200 and self.headers.get("If-None-Match") == etag:
                status, body = 304, b""
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            if web.validators:
                self.send_header("ETag", etag)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with answering(Handler) as web.port:
        yield web
