"""One name in many folders: a relative reference leads where its own page's folder says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.threaded_server import QuietHandler, answering

from .running import headgate

FOLDERS = ("", "sub/", "sub/deep/", "other/")
PARTS = [f"part{number}.html" for number in range(12)]
PATHS = {f"/{folder}{name}" for folder in FOLDERS for name in ["index.html", *PARTS]}


@dataclass(slots=True)
class ManualWeb:
    """Manuals in several folders whose pages have the same names, linked by relative references."""

    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)

    def body(self, path: str) -> bytes:
        folder, _, name = path.rpartition("/")
        links = PARTS if name == "index.html" else ["index.html", *PARTS[:3], f"./{PARTS[4]}"]
        if path == "/index.html":
            links = [*links, *(f"{folder}index.html" for folder in FOLDERS[1:])]
        anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
        return f"<title>{folder} {name}</title>{anchors}".encode()


@contextmanager
def serving(web: ManualWeb) -> Iterator[ManualWeb]:
    class Handler(QuietHandler):
        def answer(self) -> None:
            web.asked[self.path] += 1
            if self.path not in PATHS:
                self.send_error(404)
                return
            body, tag = web.body(self.path), f'"{self.path}"'
            unchanged = self.headers.get("If-None-Match") == tag
            self.send_response(304 if unchanged else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("ETag", tag)
            self.send_header("Content-Length", str(0 if unchanged else len(body)))
            self.end_headers()
            self.wfile.write(b"" if unchanged else body)

    with answering(Handler) as web.port:
        yield web


@pytest.mark.parametrize("processes", [1, 2])
def test_pages_of_the_same_name_in_many_folders_are_all_asked_for(
    tmp_path: Path, processes: int
) -> None:
    out = tmp_path / "data"
    words = ["--bandwidth", "unlimited", "--delay", "0", "--processes", processes, "--out", out]
    with serving(ManualWeb()) as web:
        seed = f"http://127.0.0.1:{web.port}/index.html"
        for _ in range(2):
            web.asked.clear()
            done = headgate("crawl", seed, *map(str, words), "--json", "--quiet")
            assert done.returncode == 0, done.stderr
            assert set(web.asked) - {"/robots.txt", "/sitemap.xml"} == PATHS
            assert max(web.asked.values()) == 1
            assert json.loads(done.stdout)["pages"] == len(PATHS)
