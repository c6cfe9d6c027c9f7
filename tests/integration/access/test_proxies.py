"""Crawls through real proxies: tinyproxy for HTTP, microsocks for SOCKS5."""

from __future__ import annotations

import json
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving
from tests.integration.access.servers import free_port, microsocks, tinyproxy

PAGES = 10
pytestmark = pytest.mark.skipif(
    shutil.which("tinyproxy") is None or shutil.which("microsocks") is None,
    reason="needs Debian's tinyproxy and microsocks",
)


def pages(web: SmallWeb, out: Path, proxy: str) -> int:
    words = ["--out", str(out), "--quiet", "--json", "--delay", "0", "--proxy", "env:PROXY"]
    done = headgate("crawl", web.seed, *words, PROXY=proxy)
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["pages"])


def test_through_a_proxy_of_http(tmp_path: Path) -> None:
    with serving(SmallWeb(PAGES)) as web, tinyproxy(tmp_path) as port:
        assert pages(web, tmp_path / "out", f"http://127.0.0.1:{port}") == PAGES
    log = (tmp_path / "tinyproxy.log").read_text()
    assert f"GET {web.seed} HTTP/1.1" in log


def test_a_proxy_with_a_password_and_the_password_nowhere(tmp_path: Path) -> None:
    with serving(SmallWeb(PAGES)) as web, tinyproxy(tmp_path, "me", "Se-cret9") as port:
        url = f"http://me:Se-cret9@127.0.0.1:{port}"
        assert pages(web, tmp_path / "out", url) == PAGES
    written = b"".join(f.read_bytes() for f in (tmp_path / "out").rglob("*") if f.is_file())
    assert b"Se-cret9" not in written


@pytest.mark.parametrize("login", ["", "me:Se-cret9@"])
def test_through_a_proxy_of_socks(tmp_path: Path, login: str) -> None:
    user, _, password = login.rstrip("@").partition(":")
    with serving(SmallWeb(PAGES)) as web, microsocks(user, password) as port:
        url = f"socks5://{login}127.0.0.1:{port}"
        assert pages(web, tmp_path / "out", url) == PAGES


def test_a_budget_holds_through_a_proxy(tmp_path: Path) -> None:
    with (
        serving(SmallWeb(20, page_bytes=20_000, random_bytes=9_000)) as web,
        tinyproxy(tmp_path) as port,
    ):
        words = ["--out", str(tmp_path / "out"), "--quiet", "--json", "--bandwidth", "100KB/s"]
        done = headgate("crawl", web.seed, *words, "--proxy", f"http://127.0.0.1:{port}")
    report = json.loads(done.stdout)
    assert report["pages"] == 20
    assert report["mean_rate"] <= 105_000
    assert report["wire_bytes"] > 20 * 20_000


@contextmanager
def answering(*nonsense: bytes) -> Iterator[int]:
    """Something that is no proxy: an answer to each thing it is told."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    for answer in nonsense:
                        connection.recv(4096)
                        connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_proxy_that_is_down_or_none_is_told(tmp_path: Path, scheme: str) -> None:
    with serving(SmallWeb(2)) as web:
        words = ["crawl", web.seed, "--quiet", "--proxy"]
        down = f"{scheme}://127.0.0.1:{free_port()}"
        done = headgate(*words, down, "--out", tmp_path / "down")
        assert done.returncode == 4
        first = done.stdout.splitlines()[0]
        assert f"proxy {down.rpartition('/')[2]}: Connection refused" in first
        with answering(b"220 mail.example ESMTP\r\n") as port:
            done = headgate(*words, f"{scheme}://127.0.0.1:{port}", "--out", tmp_path / "odd")
        assert done.returncode == 4
        assert done.stdout.startswith("Nothing was fetched: 127.0.0.1:")
        odd = "does not answer as one of SOCKS" if scheme == "socks5" else "no status line"
        first = done.stdout.splitlines()[0]
        assert re.search(rf"proxy (at )?127\.0\.0\.1.*{odd}", first), first
    assert web.asked == {}


@pytest.mark.parametrize(
    ("scheme", "opened"),
    [("http", (b"HTTP/1.1 200 OK\r\n\r\n",)), ("socks5", (b"\5\0", b"\5\0\0\1" + bytes(6)))],
)
@pytest.mark.parametrize("nonsense", [b"220 mail.example ESMTP\r\n", b""])
def test_a_proxy_that_agrees_and_then_talks_nonsense_is_named(
    tmp_path: Path, scheme: str, opened: tuple[bytes, ...], nonsense: bytes
) -> None:
    with answering(*opened, nonsense) as port:
        proxy = f"{scheme}://127.0.0.1:{port}"
        words = ["--quiet", "--out", str(tmp_path), "--proxy", proxy]
        done = headgate("crawl", "https://example.org/", *words)
    assert done.returncode == 4
    first = done.stdout.splitlines()[0]
    assert f"through proxy 127.0.0.1:{port}" in first, first
