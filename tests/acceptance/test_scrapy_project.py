"""An open-source Scrapy project, as it is: the same items with the add-on and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.threaded_server import QuietHandler, answering

PROJECT = Path(__file__).parents[1] / "data" / "quotesbot" / "quotesbot.tar.gz"
HOME = "http://quotes.toscrape.com/"
PAGES, QUOTES = 6, 10
ADDON = ["-s", 'ADDONS={"headgate.scrapy.Addon": 500}', "-s", "HEADGATE_BANDWIDTH=1 MB/s"]


def page(number: int) -> str:
    """In the markup of the site that the project is for."""
    quotes = "".join(
        f'<div class="quote"><span class="text">“Said {number}.{k} — and meant.”</span>'
        f'<span>by <small class="author">Author {k % 4}</small></span>'
        f'<div class="tags">Tags: <a class="tag" href="/tag/{k}/">tag{k}</a>'
        f'<a class="tag" href="/tag/all/">all</a></div></div>'
        for k in range(QUOTES)
    )
    onward = f'<li class="next"><a href="/page/{number + 1}/">Next</a></li>'
    return (
        f"<!DOCTYPE html><html><head><meta charset=utf-8><title>Quotes</title></head><body>{quotes}"
        f"<nav><ul>{onward if number < PAGES else ''}</ul></nav></body></html>"
    )


@pytest.fixture
def home() -> Iterator[str]:
    pages = {"/": page(1)} | {f"/page/{number}/": page(number) for number in range(2, PAGES + 1)}

    class Handler(QuietHandler):
        def answer(self) -> None:
            body = pages.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with answering(Handler) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture
def project(tmp_path: Path, home: str) -> Path:
    """The project with nothing but its start URL changed."""
    with tarfile.open(PROJECT) as packed:
        packed.extractall(tmp_path, filter="data")
    for spider in (tmp_path / "quotesbot" / "spiders").glob("toscrape-*.py"):
        spider.write_text(spider.read_text().replace(HOME, home))
    return tmp_path


def items(project: Path, spider: str, *settings: str) -> tuple[list[dict[str, object]], str]:
    """What it yields, and its log."""
    clean = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "crawl", spider, "-O", "-:jsonlines", *settings,
         "-s", "COOKIES_ENABLED=False"],
        cwd=project, env=clean, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


@pytest.mark.parametrize("spider", ["toscrape-css", "toscrape-xpath"])
def test_the_same_items_with_and_without(project: Path, spider: str) -> None:
    without, _ = items(project, spider)
    assert len(without) == PAGES * QUOTES
    assert without[0]["tags"] == ["tag0", "all"]
    ours, log = items(project, spider, *ADDON)
    assert ours == without
    assert f"1 site, {PAGES} pages" in log
