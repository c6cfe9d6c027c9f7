"""Pages made for our patterns, and URLs made for the user's, cost their own site only."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.integration.fetching.scripted import page

from .beside import HTML, Script, crawl_beside, paths
from .test_beside_strangers import GZIP, everywhere, links

PDF = b"Content-Type: application/pdf"
LONG = b"?" + b"".join(b"&page=%d" % number for number in range(100, 310))
"""No parameter comes twice, which would be taken for a trap."""
NO_PAGES = 6
COOKIES = "# Netscape HTTP Cookie File\n127.0.7.1\tFALSE\t/\tFALSE\t0\ta\tb\n"


class Case(NamedTuple):
    script: Callable[[], Script]
    keys: str = ""
    """For the site file; URL is the stranger's."""


def login(form: bytes) -> Script:
    return paths({"/login": lambda wire: wire.say(page(form, HTML))}, b"<a href=/x>x</a>")


CASES = {
    "a PDF of <": Case(
        lambda: everywhere(page(gzip.compress(b"%PDF-" + b"<" * 127_000), PDF, GZIP))
    ),
    "a PDF of objects": Case(
        lambda: everywhere(
            page(gzip.compress(b"%PDF-" + b"<</ObjStm/FlateDecode>>stream\n" * 30_000), PDF, GZIP)
        )
    ),
    "styles without end": Case(
        lambda: everywhere(page(b"<style" * 18_000, HTML)), 'requisites = "same-site"'
    ),
    "a login page of comments": Case(
        lambda: login(b"<!--" * 20_000),
        'login = "URLlogin"\nlogin_fields = ["u=x", "p=env:A_PASSWORD"]',
    ),
    "cookies of blanks": Case(
        lambda: everywhere(page(b"x" * 300, HTML, b"Set-Cookie:" + b" " * 60_000)),
        'cookies = "cookies.txt"',
    ),
    "URLs made for an exclude": Case(
        lambda: everywhere(page(links(300, lambda k: b"/%d" % k + LONG), HTML)),
        r"exclude = ['.*[?&]page=\d+.*[?&]sort=.*$']",
    ),
    "URLs made for a rule of what to store": Case(
        lambda: paths({}, links(300, lambda k: b"/%d" % k + LONG)),
        r"store = ['.*[?&]page=\d+.*[?&]sort=.*$']",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_honest_site_keeps_its_rate(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_PASSWORD", "secret")
    (tmp_path / "cookies.txt").write_text(COOKIES)
    script, keys = CASES[case]
    came = crawl_beside(
        tmp_path,
        {"stranger": script()},
        2.5,
        keys=lambda url: keys.replace("URL", url).replace("cookies.txt", f"{tmp_path}/cookies.txt"),
    )
    came.check()
    # robots.txt, a sitemap that is not there, and what is on its way when Ctrl-C comes
    assert came.sites["honest"]["pages"] >= len(came.asked) - NO_PAGES
