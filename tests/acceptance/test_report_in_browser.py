"""The report page in a real browser: the charts are there, and nothing is asked of the network."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from PIL import Image
from tests.unit.report.reports import make_run_report

from headgate.report.page import report_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OWN_HOSTS = ("google.com", "googleapis.com", "gvt1.com", "gstatic.com")
"""Whom the browser itself calls on its own account, page or no page."""
PROBE = '<img src="http://probe.invalid/x">'

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


class Browser:
    """Headless, all its traffic through a proxy that answers nothing and keeps the names."""

    def __init__(self, proxy: int, folder: Path) -> None:
        self._proxy = proxy
        self._folder = folder
        self.asked: list[str] = []

    def open(self, page: Path, *options: str) -> tuple[str, str]:
        """What it printed, and what it complained about."""
        assert CHROMIUM is not None
        done = subprocess.run(
            [
                CHROMIUM,
                *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
                *("--no-first-run", "--disable-background-networking", "--disable-sync"),
                *("--disable-component-update", "--enable-logging=stderr", "--hide-scrollbars"),
                f"--user-data-dir={self._folder / 'profile'}",
                f"--proxy-server=http://127.0.0.1:{self._proxy}",
                "--proxy-bypass-list=<-loopback>",
                "--virtual-time-budget=2000",
                *options,
                page.as_uri(),
            ],
            capture_output=True,
            check=True,
            timeout=120,
        )
        return done.stdout.decode(), done.stderr.decode(errors="replace")

    @property
    def foreign(self) -> set[str]:
        """The hosts that a page asked for."""
        return {host for host in self.asked if not host.endswith(OWN_HOSTS)}


@contextmanager
def listening(asked: list[str]) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    _note(connection, asked)

        thread = Thread(target=listen, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _note(connection: socket.socket, asked: list[str]) -> None:
    try:
        line = connection.recv(4096).decode("latin-1").split("\r\n")[0]
    except OSError:
        return
    if found := re.match(r"\w+ (?:\w+://)?([^/:\s]+)", line):
        asked.append(found[1])


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    asked: list[str] = []
    with listening(asked) as port:
        browser = Browser(port, tmp_path)
        browser.asked = asked
        yield browser


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    names = ("wiki", PROBE, "</style></script><script src='http://probe.invalid/y'></script>")
    path.write_text(report_page(make_run_report(6, 180, names=names, late=True)), encoding="utf-8")
    return path


def test_charts_are_there_and_nothing_is_fetched(browser: Browser, page: Path) -> None:
    dom, complaints = browser.open(page, "--dump-dom")
    assert len(re.findall(r'<path[^>]* class="band ', dom)) == 2 * 6  # for two widths of screen
    assert len(re.findall(r'<rect[^>]* class="real ', dom)) >= 2 * 6
    assert len(re.findall(r'<rect[^>]* class="planned"', dom)) >= 2 * 6
    assert len(re.findall(r"<script", dom)) == 1
    assert "<img" not in dom
    assert "Content Security Policy" not in complaints
    assert "Uncaught" not in complaints
    assert browser.foreign == set()


def test_the_proxy_would_have_seen_a_request(browser: Browser, tmp_path: Path) -> None:
    control = tmp_path / "control.html"
    control.write_text(PROBE, encoding="utf-8")
    browser.open(control, "--dump-dom")
    assert browser.foreign == {"probe.invalid"}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_is_drawn(dark: bool, browser: Browser, page: Path, tmp_path: Path) -> None:
    picture = tmp_path / "page.png"
    scheme = ("--blink-settings=preferredColorScheme=0",) if dark else ()
    browser.open(page, f"--screenshot={picture}", "--window-size=1200,1400", *scheme)
    pixels = np.asarray(Image.open(picture).convert("RGB")).astype(int)
    ground = pixels[3, 3]
    assert (ground.max() < 60) if dark else (ground.min() > 240)
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    large = colours[counts > 1500]
    colourful = large[large.max(axis=1) - large.min(axis=1) > 60]
    assert len(colourful) >= 4  # bands and bars of several sites
