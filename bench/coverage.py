"""Does a crawl get every page, and none besides? Real documentation, against a link closure.

    python -m bench.coverage

nginx serves the documentation of Python, PostgreSQL and SQLite from Debian's packages, each on a
port of its own on loopback. `bench.closure` finds what can be reached there by links. Then
``headgate crawl`` crawls all three at once: with one process and with two; in one go, and killed
(``kill -9``, all processes) at a third and at two thirds, with ``--resume`` after each.

A row compares the pages of ``pages.parquet`` (role page, status 200) with the closure. Any page
that is missing, or that only the crawl has, or has twice, is named and makes the exit code 1.

Needs Debian; missing packages are installed when run by root.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from bench.arguments import parser
from bench.closure import Closure, closure, over_http
from rich.console import Console
from rich.table import Table

CONSOLE = Console(width=100)
HEADGATE = [sys.executable, "-m", "headgate", "crawl"]
DOCUMENTS = {
    "python": ("python3-doc", Path("/usr/share/doc/python3-doc/html")),
    "postgresql": ("postgresql-doc-15", Path("/usr/share/doc/postgresql-doc-15/html")),
    "sqlite": ("sqlite3-doc", Path("/usr/share/doc/sqlite3")),
}
"""Site, its package, and the folder that holds it."""
KILL_AT = (1 / 3, 2 / 3)
MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Web:
    """Sites being served."""

    seeds: dict[str, str]
    log: Path
    """One line for each request."""

    def requests(self) -> int:
        return self.log.read_bytes().count(b"\n")


@dataclass(frozen=True, slots=True)
class Mode:
    processes: int
    killed: bool

    def __str__(self) -> str:
        count = f"{self.processes} process{'es' if self.processes > 1 else ''}"
        return f"{count}, killed {len(KILL_AT)} times" if self.killed else count


MODES = [Mode(processes, killed) for processes in (1, 2) for killed in (False, True)]


def main() -> int:
    parser(__doc__).parse_args()
    install_missing()
    with tempfile.TemporaryDirectory(prefix="headgate-") as name, serving(Path(name)) as web:
        expected = {site: expect(site, seed) for site, seed in web.seeds.items()}
        table = Table("site", "mode", "pages", "missing", "extra", "twice", "seconds")
        wrong: list[str] = []
        for mode in MODES:
            out = Path(name) / str(mode).replace(" ", "-")
            seconds = crawl(web, mode, out, sum(len(found.source) for found in expected.values()))
            stored = stored_pages(out)
            for site, found in expected.items():
                row, words = compare(found, stored[site])
                table.add_row(site, str(mode), *map(str, row), f"{seconds:.1f}")
                wrong += [f"{site}, {mode}: {word}" for word in words]
        CONSOLE.print(table)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def expect(site: str, seed: str) -> Closure:
    began = time.monotonic()
    with over_http(seed) as get:
        found = closure(seed, get)
    other = ", ".join(f"{n} × {status}" for status, n in Counter(found.others.values()).items())
    seconds = time.monotonic() - began
    print(f"{site}: closure of {len(found.pages)} pages in {seconds:.1f} s; besides {other or 0}")
    return found


def compare(found: Closure, stored: Counter[str]) -> tuple[tuple[int, ...], list[str]]:
    """Pages, missing, extra, twice; and the first few of those that are wrong, in words."""
    missing = sorted(found.pages - set(stored))
    extra = sorted(set(stored) - found.pages)
    twice = sorted(url for url, count in stored.items() if count > 1)
    words = [f"missing {url}, linked from {found.source[url]}" for url in missing[:MOST_NAMED]]
    words += [f"extra {url}, else {found.others.get(url, 'not met')}" for url in extra[:MOST_NAMED]]
    words += [f"twice {url}" for url in twice[:MOST_NAMED]]
    return (len(stored), len(missing), len(extra), len(twice)), words


def crawl(web: Web, mode: Mode, out: Path, urls: int) -> float:
    """Crawl, killing on the way if the mode says so; seconds from the first start to the end."""
    sites = out.with_suffix(".toml")
    sites.write_text("".join(f'[site.{s}]\nseeds = ["{url}"]\n' for s, url in web.seeds.items()))
    began = time.monotonic()
    before = web.requests()
    words = [str(sites), "--bandwidth", "unlimited", "--processes", str(mode.processes)]
    for part in KILL_AT if mode.killed else ():
        running = start(words, out)
        while web.requests() < before + part * urls:
            if running.poll() is not None:
                raise SystemExit(f"{mode}: the crawl ended before it could be killed")
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        words = ["--resume"]
    if start(words, out).wait(timeout=600):
        raise SystemExit(f"{mode}: the crawl failed")
    return time.monotonic() - began


def start(words: list[str], out: Path) -> subprocess.Popen[bytes]:
    """In a process group of its own, so that all of it can be killed."""
    return subprocess.Popen(
        [*HEADGATE, *words, "--out", str(out), "--quiet"],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def stored_pages(out: Path) -> dict[str, Counter[str]]:
    """Of each site, how often each page is in the table."""
    (path,) = out.glob("runs/*/pages.parquet")
    pages: dict[str, Counter[str]] = {site: Counter() for site in DOCUMENTS}
    for row in pq.read_table(path, columns=["site", "url", "role", "status"]).to_pylist():
        if row["role"] == "page" and row["status"] == 200:
            pages[row["site"]][row["url"]] += 1
    return pages


@contextmanager
def serving(folder: Path) -> Iterator[Web]:
    """An nginx of our own, with everything it writes in ``folder``."""
    ports = dict(zip(DOCUMENTS, free_ports(len(DOCUMENTS)), strict=True))
    log = folder / "requests.log"
    log.touch()
    servers = "".join(
        f"server {{ listen 127.0.0.1:{ports[site]}; root {root}; absolute_redirect off; }}\n"
        for site, (_, root) in DOCUMENTS.items()
    )
    scratch = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"user {'root' if os.geteuid() == 0 else 'nobody'};\ndaemon off;\n"
        f"pid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\ninclude /etc/nginx/mime.types;\naccess_log {log};\n{scratch}{servers}}}\n"
    )
    nginx = subprocess.Popen([nginx_program(), "-c", str(config), "-e", f"{folder}/error.log"])
    try:
        for port in ports.values():
            await_port(port, nginx)
        yield Web({site: f"http://127.0.0.1:{port}/" for site, port in ports.items()}, log)
    finally:
        nginx.terminate()
        nginx.wait()


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def await_port(port: int, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    raise SystemExit("nginx did not start")


def nginx_program() -> str:
    return shutil.which("nginx") or "/usr/sbin/nginx"


def install_missing() -> None:
    wanted = [package for package, root in DOCUMENTS.values() if not (root / "index.html").exists()]
    if not Path(nginx_program()).exists():
        wanted.append("nginx-light")
    if not wanted:
        return
    if os.geteuid() != 0:
        raise SystemExit(f"install {', '.join(wanted)} first, or run this as root")
    subprocess.run(["apt-get", "update", "-q"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["apt-get", "install", "-qy", "--no-install-recommends", *wanted],
        check=True,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    sys.exit(main())
