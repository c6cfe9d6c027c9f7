"""What servers and sites may expect of a whole crawl: rules, patience, cookies, certificates."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import time
from email.utils import formatdate
from pathlib import Path

import pytest
import uvloop
from tests.integration.fetching.scripted import Wire, page, serving

from .crawled import crawl_cases, crawl_sites
from .hostile_web import FRONT, GOOD, HTML, Answer, Case, bad, gives, robots, says

RULES_FOR_US = b"User-agent: *\nDisallow: /\n\nUser-agent: HeadGate/2.0\nDisallow: /bad\n"


def busy_at_first(lines: list[bytes], moments: list[float]) -> Answer:
    """Says these lines, one at each try, and then the page; notes when it was asked.

    A date in 3 seconds, of which the header drops the fraction, stands for ``{soon}``.
    """

    async def answer(wire: Wire) -> None:
        moments.append(time.monotonic())
        if lines:
            soon = formatdate(time.time() + 3, usegmt=True).encode()
            line = lines.pop(0).replace(b"{soon}", soon)
            await wire.say(b"HTTP/1.1 %b\r\nContent-Length: 0\r\n\r\n" % line)
        else:
            await wire.say(page(b"at last", HTML))

    return answer


def test_what_sites_ask_for_is_done(tmp_path: Path) -> None:
    seconds: list[float] = []
    date: list[float] = []
    cases = {
        "our own group": robots(gives(RULES_FOR_US), ("/", "/good")),
        "robots busy for a moment": robots(
            busy_at_first([b"503 Busy\r\nRetry-After: 1"], []), ("/", "/good")
        ),
        "seconds": bad(busy_at_first([b"429 Slow down\r\nRetry-After: 3"], seconds), stored=True),
        "date": bad(busy_at_first([b"503 Busy\r\nRetry-After: {soon}"], date), stored=True),
        "cookies": Case(
            {
                "/": gives(FRONT, HTML, b"Set-Cookie: of=cookies"),
                "/good": gives(GOOD, HTML, b"Set-Cookie: of=; Max-Age=0"),
                "/bad": gives(b"x"),
            }
        ),
        "no cookies": bad(gives(b"x", HTML), stored=True),
        "sitemap only": Case(
            {
                "/robots.txt": gives(b"User-agent: *\nDisallow: /$\nSitemap: /map.txt"),
                "/map.txt": gives(b"http://127.0.0.1/elsewhere\n"),
            },
            pages=(),
        ),
    }
    crawled = crawl_cases(tmp_path, cases)
    assert crawled.sites["our own group"]["errors"] == {}
    assert sorted(crawled.pages["our own group"]) == ["/", "/good"]
    assert sorted(crawled.pages["robots busy for a moment"]) == ["/", "/good"]
    assert sorted(crawled.pages["seconds"]) == ["/", "/bad", "/good"]
    assert seconds[1] - seconds[0] >= 3
    assert sorted(crawled.pages["date"]) == ["/", "/bad", "/good"]
    assert date[1] - date[0] > 1
    sent = [request for request in cases["cookies"].asked if b"\r\nCookie: of=cookies" in request]
    assert any(b"GET /good" in request for request in sent)
    assert not any(b"\r\nCookie:" in request for request in cases["no cookies"].asked)
    assert any(b"GET /map.txt" in request for request in cases["sitemap only"].asked)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the command openssl")
def test_certificates_are_verified_and_private_ones_can_be_trusted(tmp_path: Path) -> None:
    certificate = tmp_path / "certificate.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=me"
    command = ["openssl", *words.split(), "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(certificate)]
    subprocess.run([*command, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, tmp_path / "key.pem")

    async def script(wire: Wire) -> None:
        while request := await wire.said():
            good = b"/robots.txt" not in request
            await (gives(GOOD, HTML) if good else says(b"HTTP/1.1 404 No\r\n\r\n"))(wire)

    async def session() -> None:
        async with serving(script, tls=context) as server:
            seeds = {"site": server.url().replace("http:", "https:")}
            told = await crawl_sites(tmp_path / "strict", seeds)
            (site,) = told["report"]["sites"]
            assert (site["pages"], site["errors"]) == (0, {"tls": 1})
            assert "TLS, certificate" in " ".join(site["given_up"].values())
            trusting = await crawl_sites(tmp_path / "t", seeds, SSL_CERT_FILE=str(certificate))
            (site,) = trusting["report"]["sites"]
            assert (site["pages"], site["errors"]) == (1, {})

    uvloop.run(session())
