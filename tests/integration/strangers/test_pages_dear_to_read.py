"""Fifteen kilobytes that unpack to sixteen megabytes of tags cost their own site, and no other.

So it is where there is no compiled pass; where there is, test_beside_strangers asks for more.

Two sites are crawled at once, by the command itself: one whose pages are all made to be dear, and
an honest one, which should be done long before the other and never wait for it.
"""

from __future__ import annotations

import gzip
import http.server
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

UNPACKED_BYTES = 16_000_000
DEAR_PAGES = 3
HONEST_PAGES = 300
LONGEST_GAP_SECONDS = 1.5
LONGEST_PART = 0.75
"""Of the time that one dear page takes on this machine as busy as it is. Without a process of their
own for such pages the gap is the time of several, where they come together."""
WITHOUT_COMPILED = "import sys; sys.modules['headgate.reading._tags'] = None\n"
CRAWL = WITHOUT_COMPILED + "from headgate.__main__ import start; start()"
READ_ONE = WITHOUT_COMPILED + (
    "import time; from headgate.reading.links import links_in; began = time.monotonic()\n"
    f"links_in('<p>' * {UNPACKED_BYTES // 3}, 'http://a/'); print(time.monotonic() - began)"
)


class _Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pages: dict[str, bytes]
    coding = ""
    times: list[float]

    def do_GET(self) -> None:
        body = self.pages.get(self.path)
        self.times.append(time.monotonic())
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "text/html")
        if body is not None and self.coding:
            self.send_header("Content-Encoding", self.coding)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(pages: dict[str, bytes], coding: str = "") -> Iterator[tuple[str, list[float]]]:
    """Its address, and when it was asked."""
    times: list[float] = []
    handler = type("Site", (_Site,), {"pages": pages, "coding": coding, "times": times})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", times
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def dear_pages() -> dict[str, bytes]:
    piece = b"<p>"
    pages = {"/": b"".join(b"<a href=/%d>" % k for k in range(DEAR_PAGES))}
    page = piece * (UNPACKED_BYTES // len(piece))
    pages |= {f"/{k}": b"<title>%d</title>" % k + page for k in range(DEAR_PAGES)}
    return {path: gzip.compress(page, 9) for path, page in pages.items()}


def honest_pages() -> dict[str, bytes]:
    """Each leads to the next two: most of the crawl has several to ask for."""
    links = b"<a href=/%d>next</a><a href=/%d>and</a> %d"
    pages = {f"/{k}": links % (2 * k + 1, 2 * k + 2, k) for k in range(HONEST_PAGES)}
    return pages | {"/": pages["/0"]}


def test_honest_site_does_not_wait(tmp_path: Path) -> None:
    dear = dear_pages()
    assert len(dear["/1"]) < 60_000
    with served(dear, "gzip") as (bad, asked), served(honest_pages()) as (good, times):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                CRAWL,
                "crawl",
                bad,
                good,
                "--delay",
                "0",
                "--quiet",
                "--contact",
                "tests@example.org",
                "--out",
                str(tmp_path / "data"),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    assert len(asked) >= DEAR_PAGES
    assert len(times) >= HONEST_PAGES
    gaps = [later - earlier for earlier, later in pairwise(times)]
    one = subprocess.run([sys.executable, "-c", READ_ONE], capture_output=True, check=True)
    assert max(gaps) < max(LONGEST_GAP_SECONDS, LONGEST_PART * float(one.stdout))
