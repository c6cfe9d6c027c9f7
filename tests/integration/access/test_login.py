"""A DokuWiki that only its user may read, crawled by form and by cookies.txt; no secret on disk."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from http.cookiejar import MozillaCookieJar
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pyarrow.parquet as pq
import pytest
from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving
from tests.integration.access.servers import PASSWORD, USER, private_wiki

PAGES = 7
pytestmark = pytest.mark.skipif(
    shutil.which("php") is None or not Path("/usr/share/dokuwiki/doku.php").exists(),
    reason="needs Debian's dokuwiki and php-cli",
)


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with private_wiki(tmp_path_factory.mktemp("wiki"), PAGES) as seed:
        yield seed


def site_file(folder: Path, wiki: str, lines: str) -> Path:
    path = folder / "sites.toml"
    path.write_text(f"[site.wiki]\nseeds = ['{wiki}']\ndelay = 0\n{lines}\n")
    return path


def everything_written(folder: Path) -> bytes:
    """All that is on disk, unpacked."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    texts = [path.read_bytes() for path in files]
    texts += [gzip.decompress(data) for data in texts if data.startswith(b"\x1f\x8b")]
    for path in folder.rglob("*.parquet"):
        texts.append(repr(pq.read_table(path).to_pylist()).encode())
    for path in folder.rglob("*.sqlite"):
        with closing(sqlite3.connect(path)) as database:
            texts.append("\n".join(database.iterdump()).encode())
    return b"\n".join(texts)


def crawled(file: Path, out: Path, secret: str = "") -> dict[str, object]:
    done = headgate("crawl", file, "--out", out, "--quiet", "--json", WIKI_PASSWORD=secret)
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    (site,) = json.loads(done.stdout)["sites"]
    assert isinstance(site, dict)
    return site


def test_logged_in_by_form(wiki: str, tmp_path: Path) -> None:
    lines = f"login = '{wiki}&do=login'\nlogin_fields = ['u={USER}', 'p=env:WIKI_PASSWORD']\n"
    out = tmp_path / "out"
    site = crawled(site_file(tmp_path, wiki, lines), out, PASSWORD)
    assert site["pages"] == PAGES + 2  # and the root, and the index
    written = everything_written(out)
    assert b"Page 3" in written
    assert PASSWORD.encode() not in written
    assert b"Cookie: [redacted]" in written
    values = re.findall(rb"(?im)^set-cookie: *[^=\r\n]+=([^;\r\n]*)", written)
    assert set(values) <= {b"[redacted]"}
    assert b"do=logout" in written
    assert not re.search(rb"(?m)^GET [^ ]*do=logout", written)


def test_logged_in_by_cookies(wiki: str, tmp_path: Path) -> None:
    jar = MozillaCookieJar(str(tmp_path / "cookies.txt"))
    opener = build_opener(HTTPCookieProcessor(jar))
    token = re.search(
        r'name="sectok" value="(\w*)"', opener.open(f"{wiki}&do=login").read().decode()
    )
    assert token is not None
    form = {"u": USER, "p": PASSWORD, "sectok": token[1], "do": "login", "id": "start"}
    opener.open(wiki, urlencode(form).encode()).read()
    jar.save(ignore_discard=True)
    secrets = [cookie.value for cookie in jar if cookie.value and len(cookie.value) > 8]
    out = tmp_path / "out"
    assert crawled(site_file(tmp_path, wiki, "cookies = 'cookies.txt'"), out)["pages"] == PAGES + 2
    written = everything_written(out)
    assert secrets
    assert not [secret for secret in secrets if secret.encode() in written]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("login_fields = ['u=editor', 'p=env:WRONG']", "the login was refused"),
        ("login_fields = ['nobody=x', 'p=env:WRONG']", "there is no form with fields nobody, p"),
    ],
)
def test_a_login_that_fails_is_told(wiki: str, tmp_path: Path, lines: str, words: str) -> None:
    file = site_file(tmp_path, wiki, f"login = '{wiki}&do=login'\n{lines}")
    done = headgate("crawl", file, "--out", tmp_path / "out", "--quiet", WRONG="not-the-password")
    assert done.returncode == 4
    assert words in done.stdout + done.stderr


def test_refused_on_every_page_is_told_in_the_first_line(tmp_path: Path) -> None:
    with serving(SmallWeb(3, status=401)) as web:
        done = headgate(
            "crawl", web.seed, "--auth", "bearer env:TOKEN", "--out", tmp_path, "--quiet",
            TOKEN="hunter2",
        )  # fmt: skip
    assert done.returncode == 4
    assert "401" in (done.stdout + done.stderr).splitlines()[0]
    assert b"hunter2" not in everything_written(tmp_path)
