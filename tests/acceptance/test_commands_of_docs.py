"""Commands of docs/login.md, docs/export.md and a recipe, run as they stand, on servers of ours.

Only what must be another here is replaced: hosts, the proxy's port, and a password that is not
shown."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.acceptance.small_web import SmallWeb, serving
from tests.integration.access.servers import microsocks
from tests.threaded_server import QuietHandler, answering

DOCS = Path(__file__).parents[2] / "docs"
LOGIN, EXPORT = ((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("login", "export"))


def commands(page: str) -> list[str]:
    """As they are typed, what `headgate` does not do left out."""
    typed = re.findall(r"^\$ (.*)$", page, re.MULTILINE)
    return [line for line in typed if "headgate " in line and not line.startswith("pip ")]


BY_FORM, BY_COOKIES, BY_TOKEN, BY_PROXY = commands(LOGIN)
PASSWORD, TOKEN, SESSION = "Tr0ub4dor", "t0ken-of-ours", "session=known"
FORM = '<form method="post"><input name="u"><input name="p" type="password"></form>'


class Guarded(QuietHandler):
    """Everything but the login wants a session, what is under /docs/ a token and a header."""

    def answer(self) -> None:
        if self.path == "/robots.txt":
            self.give(404, "")
        elif "do=login" in self.path:
            self.give(200, FORM)
        elif self.path.startswith("/docs/"):
            asks = (self.headers.get("Authorization"), self.headers.get("X-Team"))
            self.page(known=asks == (f"Bearer {TOKEN}", "archive"))
        else:
            self.page(known=SESSION in (self.headers.get("Cookie") or ""))

    def do_POST(self) -> None:  # noqa: N802
        length = int(self.headers["Content-Length"])
        sent = parse_qs(self.rfile.read(length).decode())
        if sent == {"u": ["editor"], "p": [PASSWORD]}:
            self.give(200, "welcome", f"{SESSION}; Path=/")
        else:
            self.give(200, FORM)

    def page(self, *, known: bool) -> None:
        if known:
            self.give(200, '<title>x</title><a href="a">a</a> <a href="b">b</a>')
        else:
            self.give(403, "who are you?")

    def give(self, status: int, text: str, cookie: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        if cookie:
            self.send_header("Set-Cookie", cookie)
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a user types; ``headgate`` is this one."""
    command = tmp_path / "bin" / "headgate"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m headgate "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    place = tmp_path / "here"
    place.mkdir()
    return place


def typed(line: str, folder: Path) -> str:
    done = subprocess.run(
        line, shell=True, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def crawled(line: str, folder: Path) -> str:
    """What it said in the end; it may ask a server of ours as fast as it likes."""
    return typed(f"{line} --quiet", folder).splitlines()[1]


@pytest.mark.parametrize("line", [BY_FORM, BY_COOKIES, BY_TOKEN], ids=["form", "cookies", "token"])
def test_the_server_knows_who_asks(line: str, folder: Path) -> None:
    (toml,) = re.findall(r"^```toml\n(.*?)^```", LOGIN, re.MULTILINE | re.DOTALL)
    with answering(Guarded) as port:
        ours = f"http://127.0.0.1:{port}"
        (folder / "sites.toml").write_text(toml.replace("https://wiki.example.org", ours))
        name, value = SESSION.split("=")
        (folder / "cookies.txt").write_text(f"127.0.0.1\tFALSE\t/\tFALSE\t0\t{name}\t{value}\n")
        (folder / "token.txt").write_text(f"{TOKEN}\n")
        line = re.sub(r"https://\w+\.example\.org", ours, line).replace("…", PASSWORD)
        assert crawled(line, folder).startswith("1 site, 3 pages, ")


@pytest.mark.skipif(shutil.which("microsocks") is None, reason="needs Debian's microsocks")
def test_the_proxy_of_the_docs(folder: Path) -> None:
    with serving(SmallWeb(5)) as web, microsocks() as port:
        line = BY_PROXY.replace("https://example.org/", web.seed).replace(":9050", f":{port}")
        assert crawled(line, folder).startswith("1 site, 5 pages, ")


TEXT = """<!doctype html><html lang="en"><head><title>Limits</title>
<meta property="article:published_time" content="2026-10-01"></head><body><main><article>
<p>A table has 1,600 columns at the most, and how many of them can be used depends on their types: a
row must fit into one page of the disk. An index has 32 columns, and a name has 63 bytes.</p>
<p>There is no limit to the number of rows, but for the size of a table, and none to the number of
indexes, which must fit into the database. A field holds a gigabyte.</p>
</article></main></body></html>"""
SHOWN = {
    "/": '<title>All</title><a href="/old/limits.html">old</a>'
    '<a href="/docs/limits.html">docs</a><a rel="nofollow" href="/print">print</a>'
    '<a href="/large.pdf">all of it</a>',
    "/old/limits.html": TEXT.replace("</main>", '</main><a href="/limits.html">now</a>'),
    "/limits.html": TEXT,
    "/docs/limits.html": "<title>Elsewhere</title><p>These words are about something else.",
}


class Documentation(QuietHandler):
    def answer(self) -> None:
        pdf = self.path == "/large.pdf"
        body = b"%PDF-1.4" + bytes(1_100_000) if pdf else SHOWN.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "application/pdf" if pdf else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_what_comes_out_is_what_the_docs_show(folder: Path) -> None:
    as_table, as_folder, as_package, some, large, links, as_pages = commands(EXPORT)
    with answering(Documentation) as port:
        typed(f"headgate crawl http://127.0.0.1:{port}/ --quiet", folder)
    typed(as_table, folder)
    rows = csv.DictReader((folder / "pages.csv").read_text().splitlines())
    assert {urlsplit(row["url"]).path for row in rows} >= {*SHOWN, "/large.pdf"}
    typed(as_folder, folder)
    (page,) = (folder / "docs").rglob("*.md")
    assert page.as_posix().endswith("/docs/limits.html.md")
    typed(as_package, folder)
    assert zipfile.is_zipfile(folder / "site.wacz")
    (row,) = csv.DictReader(typed(some, folder).splitlines())
    assert row["url"].endswith("/docs/limits.html")
    (row,) = csv.DictReader(typed(large, folder).splitlines())
    assert row["url"].endswith("/large.pdf")
    (link,) = typed(links, folder).splitlines()
    assert json.loads(link)["rel"] == "nofollow"
    typed(as_pages, folder)
    (shown,) = re.findall(r"^\$ cat (\S+)\n(.*?)^```", EXPORT, re.MULTILINE | re.DOTALL)
    (made,) = folder.glob(shown[0].replace("docs.example.org", "*"))
    assert _as_of_the_docs(made.read_text()).startswith(shown[1].rstrip("\n").rstrip("… "))


def _as_of_the_docs(text: str) -> str:
    text = re.sub(r"http://127[.]0[.]0[.]1:[0-9]+", "https://docs.example.org", text)
    return re.sub(r'(fetched: )".*"', r'\1"2026-11-15T19:20:03Z"', text)


def test_a_long_crawl_has_a_log_and_its_end_is_told(folder: Path) -> None:
    """With programs in the place of mail and notify-send that keep what they are told."""
    recipes = (DOCS / "recipes.md").read_text(encoding="utf-8")
    (block,) = re.findall(
        r"^## A long crawl.*?^```sh\n(.*?)^```", recipes, re.MULTILINE | re.DOTALL
    )
    logged, shown, mailed, notified = block.splitlines()
    for name, keeps in (("mail", "cat"), ("notify-send", 'echo "$2"')):
        program = folder.parent / "bin" / name
        program.write_text(f"#!/bin/sh\n{keeps} > {name}.txt\n")
        program.chmod(0o755)
    with serving(SmallWeb(5)) as web:
        (folder / "sites.toml").write_text(f'[site.docs]\nseeds = ["{web.seed}"]\n')
        typed(f"{logged}\nwait", folder)
        summary = (folder / "summary.txt").read_text()
        assert summary.startswith("The site is done")
        log = (folder / "crawl.log").read_text()
        assert re.search(r"^\[ .*\] docs: done, 5 pages, ", log, re.MULTILINE)
        assert typed(shown, folder) == summary
        typed(mailed, folder)
        typed(notified, folder)
    assert "5 pages, all of them unchanged" in (folder / "mail.txt").read_text()
    assert (folder / "notify-send.txt").read_text().startswith("The site is done")
