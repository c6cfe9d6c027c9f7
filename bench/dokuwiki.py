"""A crawl of a live DokuWiki, whose every page offers to be edited, compared, exported and sorted.

    python -m bench.dokuwiki [--pages 49]

Debian's DokuWiki, served by PHP's own server on loopback, is set up in a folder of its own (what
is missing is installed first) and filled with pages that link to each other. It is crawled
by the command. Printed, and checked: every page is stored, by PHP's log at most 1.3 requests were
needed for each, robots.txt and sitemap included, and no page was locked, which DokuWiki does for a
quarter of an hour when somebody seems to edit it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

_PROGRAM = Path("/usr/share/dokuwiki")
_SETTINGS = Path("/etc/dokuwiki")
_DATA = Path("/var/lib/dokuwiki/data")
_PACKAGES = ("dokuwiki", "php-cli", "php-xml")
_LOGGED = re.compile(r"\]: GET (\S+)")
_MOST_FETCHES_PER_PAGE = 1.3
_START_SECONDS = 30.0
_WRITTEN = 1_700_000_000
"""Pages of the last five days are told to be neither indexed nor followed."""


def ensure_packages() -> None:
    if shutil.which("php") and (_PROGRAM / "doku.php").exists():
        return
    subprocess.run(["apt-get", "update", "-q"], check=True)
    install = ["apt-get", "install", "-qy", "--no-install-recommends", *_PACKAGES]
    subprocess.run(install, check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def set_up(folder: Path, pages: int) -> None:
    """A wiki of its own: program, settings and data."""
    shutil.copytree(_PROGRAM, folder / "wiki")
    shutil.copytree(_SETTINGS, folder / "conf", ignore_dangling_symlinks=True)
    shutil.copytree(_DATA, folder / "data")
    conf, data = folder / "conf", folder / "data"
    preload = folder / "wiki" / "inc" / "preload.php"
    preload.write_text(
        f"<?php define('DOKU_CONF', '{conf}/'); define('DOKU_MAIN_CONF', '{conf}/');"
    )
    local = f"<?php\n$conf['savedir'] = '{data}';\n$conf['useacl'] = 0;\n$conf['title'] = 'Wiki';\n"
    (conf / "local.php").write_text(local)
    shutil.rmtree(data / "pages", ignore_errors=True)
    (data / "pages").mkdir()
    for number in range(pages):
        links = [k for k in (2 * number + 1, 2 * number + 2, number - 1) if 0 <= k < pages]
        text = "\n".join(f"  * [[{name(k)}|page {k}]]" for k in links)
        body = f"====== Page {number} ======\n\n{'Some words. ' * 40}\n\n{text}\n"
        page = data / "pages" / f"{name(number)}.txt"
        page.write_text(body)
        os.utime(page, (_WRITTEN, _WRITTEN))


def name(number: int) -> str:
    return "start" if number == 0 else f"page{number}"


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, Path]]:
    """Its address, and PHP's log."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = folder / "php.log"
    with log.open("wb") as file:
        command = ["php", "-S", f"127.0.0.1:{port}", "-t", str(folder / "wiki")]
        server = subprocess.Popen(command, stdout=file, stderr=file)
        try:
            wait_for(f"http://127.0.0.1:{port}/lib/exe/css.php")
            yield f"http://127.0.0.1:{port}/doku.php?id=start", log
        finally:
            server.terminate()
            server.wait()


def wait_for(url: str) -> None:
    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urlopen(url, timeout=10):
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def crawl(seed: str, folder: Path) -> int:
    """Pages stored."""
    words = ["crawl", seed, "--out", str(folder / "out"), "--quiet", "--json", "--delay", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "headgate", *words], check=True, capture_output=True
    )
    (site,) = json.loads(done.stdout)["sites"]
    return int(site["pages"])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=49)
    pages = parser.parse_args(arguments).pages
    ensure_packages()
    with tempfile.TemporaryDirectory(prefix="headgate-") as place:
        folder = Path(place)
        set_up(folder, pages)
        with served(folder) as (seed, log):
            before = len(_LOGGED.findall(log.read_text()))
            stored = crawl(seed, folder)
            asked = _LOGGED.findall(log.read_text())[before:]
        locks = list((folder / "data" / "locks").glob("*.lock"))
    others = sorted({url for url in asked if not re.fullmatch(r"/doku\.php\?id=\w+", url)})
    per_page = len(asked) / pages
    print(f"{pages} pages, {stored} stored, {len(asked)} requests: {per_page:.2f} per page")
    print(f"locked: {len(locks)}; asked for besides pages: {', '.join(others) or 'nothing'}")
    well = stored >= pages and per_page <= _MOST_FETCHES_PER_PAGE and not locks
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
