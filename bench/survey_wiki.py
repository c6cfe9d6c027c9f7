"""A survey of a live MediaWiki, whose pages link to themselves under ever new queries.

    python -m bench.survey_wiki [--pages 150] [--depth 8]

Debian's MediaWiki on SQLite, served by PHP's own server on loopback, is installed into a folder of
its own (packages that are missing are installed first) and filled with pages that link to each
other and to other hosts. Surveyed by the command. Then a crawl that shares nothing with Headgate
asks for all pages without a query within the same depth. Printed, and checked: the survey ends by
itself, asks for at most one URL of each script by PHP's log, and finds every external host that
the crawl of plain pages finds.
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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

from bench.closure import normal

_WIKI = Path("/usr/share/mediawiki")
_PACKAGES = ("mediawiki", "php-cli", "php-sqlite3", "php-mbstring", "php-xml", "php-intl")
_LOGGED = re.compile(r"\]: GET (\S+)")
# A page that leads elsewhere each time would make the comparison a matter of luck.
_SETTINGS = """
$wgJobRunRate = 0;
$wgMainCacheType = CACHE_NONE;
$wgParserCacheType = CACHE_NONE;
$wgHooks['SpecialPage_initList'][] = function ( &$pages ) { unset( $pages['Randompage'] ); };
"""


def ensure_packages() -> None:
    if shutil.which("php") and (_WIKI / "index.php").exists():
        return
    subprocess.run(["apt-get", "update", "-q"], check=True)
    install = ["apt-get", "install", "-qy", "--no-install-recommends", *_PACKAGES]
    subprocess.run(install, check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


@dataclass(frozen=True)
class Wiki:
    """Installed, not yet served."""

    folder: Path
    port: int

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Of PHP's server."""
        return self.folder / "php.log"

    def install(self) -> None:
        self._maintain(
            "install.php", "--dbtype", "sqlite", "--dbpath", str(self.folder / "data"),
            "--confpath", str(self.folder), "--server", self.origin, "--scriptpath", "",
            "--pass", "survey-bench-pass", "Survey", "Admin",
        )  # fmt: skip
        with (self.folder / "LocalSettings.php").open("a", encoding="utf-8") as settings:
            settings.write(_SETTINGS)

    def fill(self, pages: int) -> None:
        """A page links to two below it, to one anywhere and to hosts; the first is the front."""
        texts = self.folder / "texts"
        texts.mkdir()
        for number in range(pages):
            below = [child for child in (2 * number + 1, 2 * number + 2) if child < pages]
            inside = " ".join(f"[[{_title(to)}]]" for to in (*below, number * 37 % pages))
            hosts = [f"host-{number}.example", f"shared-{number % 23}.example"]
            outside = " ".join(f"[https://{host}/ a link]" for host in hosts)
            (texts / f"{_title(number)}.txt").write_text(f"{inside}\n\n{outside}\n")
        files = sorted(map(str, texts.iterdir()))
        self._maintain("importTextFiles.php", "--overwrite", *files)

    @contextmanager
    def served(self) -> Iterator[None]:
        command = ["php", "-d", "opcache.enable_cli=1", "-S", f"127.0.0.1:{self.port}"]
        with self.log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "-t", str(_WIKI)],
                stdout=output,
                stderr=output,
                env={**self._environment, "PHP_CLI_SERVER_WORKERS": "4"},
                start_new_session=True,
            )
        try:
            _wait_for(self.port)
            yield
        finally:
            os.killpg(process.pid, 15)
            process.wait(timeout=30)

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "MW_CONFIG_FILE": str(self.folder / "LocalSettings.php")}

    def _maintain(self, script: str, *arguments: str) -> None:
        installed = (self.folder / "LocalSettings.php").exists()
        subprocess.run(
            ["php", str(_WIKI / "maintenance" / script), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            env=self._environment if installed else None,
        )


def _title(number: int) -> str:
    return f"Page {number}" if number else "Main Page"


def _wait_for(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("PHP's server does not come up")


@dataclass
class PlainCrawl:
    """What pages without a query lead to, breadth first."""

    asked: dict[str, int] = field(default_factory=dict)
    """Pages and their depths."""
    hosts: set[str] = field(default_factory=set)


def plain_crawl(start: str, depth: int) -> PlainCrawl:
    found = PlainCrawl({start: 0})
    waiting = [start]
    own = urlsplit(start).hostname
    for page in waiting:
        for url, follow in _links(page):
            target = urlsplit(url)
            if target.hostname != own:
                found.hosts.add(target.hostname or "")
                continue
            below = follow and not target.query and found.asked[page] < depth
            if below and url not in found.asked:
                found.asked[url] = found.asked[page] + 1
                waiting.append(url)
    return found


def _links(page: str) -> list[tuple[str, bool]]:
    """Each link with whether it may be followed."""
    try:
        with urlopen(page, timeout=60) as response:
            if "html" not in response.headers.get("Content-Type", ""):
                return []
            text, base = response.read().decode("utf-8", "replace"), response.url
    except HTTPError:
        return []
    anchors = _Anchors()
    anchors.feed(text)
    links = [(normal(base, href), follow) for href, follow in anchors.found]
    return [
        (url, follow and not anchors.no_follow) for url, follow in links if url.startswith("http")
    ]


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, bool]] = []
        self.no_follow = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in values:
            self.found.append((values["href"], "nofollow" not in values.get("rel", "")))
        elif tag == "meta" and values.get("name") == "robots":
            self.no_follow |= "nofollow" in values.get("content", "")


def asked_twice(paths: Sequence[str]) -> list[str]:
    """Scripts of which more than one URL was asked for, or the bare path after one."""
    used: Counter[str] = Counter()
    for path in paths:
        script, mark, _ = path.partition("?")
        if mark or used[script]:
            used[script] += 1
    return [script for script, count in used.items() if count > 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pages", type=int, default=150)
    parser.add_argument("--depth", type=int, default=8)
    args = parser.parse_args()
    ensure_packages()
    with tempfile.TemporaryDirectory() as place, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        wiki = Wiki(Path(place), port)
        wiki.install()
        wiki.fill(args.pages)
        with wiki.served():
            began = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-m", "headgate", "survey", f"{wiki.origin}/", "--quiet",
                 "--delay", "0s", "--max-pages", "5000", "--depth", str(args.depth), "--json",
                 "--out", str(wiki.folder / "out")],
                check=True, capture_output=True,
            )  # fmt: skip
            seconds = time.monotonic() - began
            paths = _LOGGED.findall(wiki.log.read_text(errors="replace"))
            plain = plain_crawl(f"{wiki.origin}/", args.depth)
        report = json.loads(done.stdout)
        hosts = _hosts(wiki.folder / "out" / "runs" / report["stamp"])
        twice, missed = asked_twice(paths), plain.hosts - hosts
        queries = sum("?" in path for path in paths)
        print(f"ended by itself: {report['ending']}, after {seconds:.0f} s")
        print(f"requests in PHP's log {len(paths):,}, of which {queries} with a query")
        print(f"scripts asked for more than once: {len(twice)} {twice[:5]}")
        print(
            f"plain pages crawled for comparison {len(plain.asked):,}, hosts {len(plain.hosts):,}"
        )
        print(f"hosts found by the survey {len(hosts):,}, missed {len(missed)} {list(missed)[:5]}")
        sys.exit(bool(twice or missed or report["interrupted"]))


def _hosts(run: Path) -> set[str]:
    import pyarrow.parquet as pq

    return set(pq.read_table(run / "links.parquet").column("host").to_pylist())


if __name__ == "__main__":
    main()
