"""A web to crawl at full speed: generated pages as files, served by nginx on loopback.

A site of n pages is the same for everyone: page i links to the eight pages 8i+1 ... 8i+8, which
makes all of them reachable within a few levels, to the front page and to some forty others at
random, and has text up to 14 KB. Sites are told apart by port; each is to be had at 127.0.0.1 and
127.0.0.2, so that two sites can be crawled at once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

__all__ = ["PAGE_BYTES", "nginx_program", "served", "site_url"]

PAGE_BYTES = 14_000
_LINKS = 50
_CHILDREN = 8
_FIRST_PORT = 18_400
_PAGES_PER_FOLDER = 100
_CONFIG = """\
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    types {{ text/html html; text/plain txt; }}
    charset utf-8;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 100000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{servers}
}}
"""


def nginx_program() -> str | None:
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def site_url(pages: int, sizes: Sequence[int], number: int = 0) -> str:
    """The front page of a site of so many pages, on the first or the second address."""
    return f"http://127.0.0.{1 + number}:{_FIRST_PORT + list(sizes).index(pages)}/"


@contextlib.contextmanager
def served(folder: Path, sizes: Sequence[int]) -> Iterator[None]:
    """Sites of these sizes, for as long as the context lasts."""
    program = nginx_program()
    assert program is not None
    if _answers(_FIRST_PORT):
        raise OSError(f"port {_FIRST_PORT} is in use: does another bench run?")
    for pages in sizes:
        _make_site(folder / str(pages), pages)
    servers = "\n".join(
        f"    server {{ listen {_FIRST_PORT + k}; root {folder / str(pages)}; }}"
        for k, pages in enumerate(sizes)
    )
    config = folder / "nginx.conf"
    config.write_text(_CONFIG.format(folder=folder, servers=servers))
    folder.chmod(0o755)
    server = subprocess.Popen([program, "-c", str(config), "-p", str(folder)])
    try:
        _await_port(_FIRST_PORT + len(sizes) - 1)
        yield
    finally:
        server.terminate()
        server.wait()


def _make_site(folder: Path, pages: int) -> None:
    """Deterministic: everyone, in every run, crawls the same bytes."""
    random = np.random.default_rng(pages)
    words = [
        "".join(random.choice(list("abcdefghijklmnoprstuvw"), size))
        for size in random.integers(2, 10, 2000)
    ]
    for number in range(pages):
        path = folder / _path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_page(number, pages, random, words))
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n")


def _path(number: int) -> str:
    return "index.html" if not number else f"{number // _PAGES_PER_FOLDER}/page-{number}.html"


def _page(number: int, pages: int, random: np.random.Generator, words: Sequence[str]) -> str:
    first = _CHILDREN * number + 1
    children = range(first, min(first + _CHILDREN, pages))
    others = random.integers(1, pages, _LINKS - 1 - len(children))
    targets = [*children, *map(int, others)]
    text = [words[k] for k in random.integers(0, len(words), 2400)]
    parts = [
        f"<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>Page {number}</title>",
        "</head>\n<body><nav><a href='/'>Home</a></nav>\n",
    ]
    share = len(text) // len(targets)
    for k, target in enumerate(targets):
        line = " ".join(text[k * share : (k + 1) * share])
        parts.append(
            f'<p class="item">{line} <a class="link" href="/{_path(target)}">'
            f"{text[k]} {target}</a></p>\n"
        )
    page = "".join(parts)[: PAGE_BYTES - 40]
    return page[: page.rindex("</p>") + 4] + "\n</body></html>\n"


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        return True
    return False


def _await_port(port: int) -> None:
    for _ in range(100):
        if _answers(port):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nginx does not listen on port {port}")
