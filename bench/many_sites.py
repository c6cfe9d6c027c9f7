"""Ten thousand small sites in one crawl: what does each of them cost, and what does it leave?

    python -m bench.many_sites                        10,000 sites of 3 pages, 1 and 2 processes
    python -m bench.many_sites --sites 1000 --processes 2
    python -m bench.many_sites --bandwidth 20MB/s     planned: a limit, and a deadline for each
    python -m bench.many_sites --again                and the same sites once more

Each site has an address of its own in 127.0.0.0/8, all served by one process beside the crawl, so
that ten thousand hosts are met, each with its robots.txt. Pages have 2 KB and link to each other.
The usual pause between two requests is left out: it would only make the bench longer.

Columns: sites done and not; seconds by the clock; of these, seconds from the last request until
the command ended; CPU milliseconds per site, all our processes together; their memory at the worst
moment; the longest time in which the server saw no request, from the first to the last;
pages.parquet; links.parquet; files in the collection and their size; report.html; seconds that
`headgate report` and reading the table of pages took afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import mmap
import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import pyarrow.parquet as pq
import uvloop
from bench.speed_peers.cost import cost_of

MOST_SECONDS = 900.0
FIRST_ADDRESS = (127 << 24) + (1 << 16) + 1
CPU_MS, MEMORY, FINISHING_SECONDS, TABLE_BYTES = 8.0, 400_000_000, 10.0, 15_000_000
"""What a crawl of 10,000 sites may take."""
_SEEN = struct.Struct("<Qddd")
"""Requests; when the first and the last came; the longest time between two."""
HEADING = (
    f"{'':<22} {'done':>6} {'not':>5} {'s':>6} {'end s':>6} {'CPU ms':>7} {'MB':>6} {'gap s':>6}"
    f" {'pages':>7} {'links':>7} {'files':>7} {'size':>7} {'html':>7} {'rep s':>6} {'read s':>6}"
)


@dataclass(slots=True)
class Seen:
    """What the server saw, in memory that both processes have."""

    memory: mmap.mmap

    def note(self) -> None:
        count, first, last, gap = _SEEN.unpack_from(self.memory)
        now = time.monotonic()
        gap = max(gap, now - last) if count else 0.0
        _SEEN.pack_into(self.memory, 0, count + 1, first or now, now, gap)

    def take(self) -> tuple[int, float, float, float]:
        """All of it; the next crawl starts afresh."""
        seen = _SEEN.unpack_from(self.memory)
        _SEEN.pack_into(self.memory, 0, 0, 0.0, 0.0, 0.0)
        return seen


class _Site(asyncio.Protocol):
    """One connection; requests are small enough to come in one piece."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._name = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        *requests, self._waiting = (self._waiting + data).split(b"\r\n\r\n")
        for request in requests:
            self._seen.note()
            self._transport.write(_answer(self._name, request.split(b" ", 2)[1].decode()))


def _answer(host: str, path: str) -> bytes:
    if path not in ("/", "/one", "/two"):
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    text = f"Page {path} of {host}. " * (1800 // len(host))
    body = (
        f"<!doctype html><html lang=en><head><title>{path} of {host}</title></head><body>"
        f"<p>{text[:1800]}</p><a href='/'>home</a> <a href='/one'>one</a>"
        f" <a href='/two'>two</a></body></html>"
    ).encode()
    tag = hash((host, path)) & 0xFFFFFFFF
    head = (
        f'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nETag: "{tag:x}"\r\n'
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _serve(memory_fd: int, told: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seen = Seen(mmap.mmap(memory_fd, mmap.PAGESIZE))

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Site(seen), "0.0.0.0", 0, backlog=1024)
        told.send(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    uvloop.run(serve())


@contextmanager
def served() -> Iterator[tuple[int, Seen]]:
    """The sites; their port, and what is seen of the crawls."""
    fd = os.memfd_create("seen")
    os.ftruncate(fd, mmap.PAGESIZE)
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(fd, theirs))
    process.start()
    try:
        yield ours.recv(), Seen(mmap.mmap(fd, mmap.PAGESIZE))
    finally:
        process.kill()  # whoever forked it may have left a handler that heeds no less
        process.join()


def host_of(number: int) -> str:
    """
    >>> host_of(0), host_of(9_999)
    ('127.1.0.1', '127.1.39.16')
    """
    return ".".join(map(str, (FIRST_ADDRESS + number).to_bytes(4, "big")))


def site_file(sites: int, port: int, crawlers: int, bandwidth: str = "") -> str:
    """The crawl as a user would write it down."""
    deadline = 'deadline = "1h"\n' if bandwidth else ""
    limit = f'bandwidth = "{bandwidth}"\n' if bandwidth else ""
    return f"[budget]\ncrawlers = {crawlers}\n{limit}" + "".join(
        f'[site.s{number:05d}]\nseeds = ["http://{host_of(number)}:{port}/"]\n{deadline}'
        for number in range(sites)
    )


@dataclass(frozen=True, slots=True)
class Result:
    name: str
    sites: int
    done: int
    exit_code: int
    requests: int
    seconds: float
    finishing: float
    cpu_ms: float
    peak_bytes: int
    gap: float
    pages_bytes: int
    links_bytes: int
    files: int
    files_bytes: int
    html_bytes: int
    report_seconds: float
    reading_seconds: float

    def line(self) -> str:
        wrong = f"  exit code {self.exit_code}" if self.exit_code else ""
        return (
            f"{self.name:<22} {self.done:6,} {self.sites - self.done:5,} {self.seconds:6.1f}"
            f" {self.finishing:6.1f} {self.cpu_ms:7.2f} {self.peak_bytes / 1e6:6.0f}"
            f" {self.gap:6.2f} {self.pages_bytes / 1e6:7.2f} {self.links_bytes / 1e6:7.2f}"
            f" {self.files:7,} {self.files_bytes / 1e6:7.1f} {self.html_bytes / 1e6:7.2f}"
            f" {self.report_seconds:6.2f} {self.reading_seconds:6.2f}{wrong}"
        )

    def faults(self) -> Iterator[str]:
        if self.exit_code or self.done < self.sites:
            yield "not all sites are done"
        if self.cpu_ms > CPU_MS:
            yield f"more than {CPU_MS:g} ms of CPU per site"
        if self.peak_bytes > MEMORY:
            yield f"more than {MEMORY / 1e6:g} MB"
        if self.finishing > FINISHING_SECONDS:
            yield f"more than {FINISHING_SECONDS:g} s of finishing"
        if self.pages_bytes > TABLE_BYTES:
            yield f"pages.parquet above {TABLE_BYTES / 1e6:g} MB"


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    faults: list[str] = []
    print(f"{options.sites:,} sites of 3 pages; {os.cpu_count()} cores\n\n{HEADING}")
    with served() as (port, seen), tempfile.TemporaryDirectory(prefix="headgate-many-") as name:
        for processes in options.processes:
            folder = Path(options.keep or name) / f"of-{processes}"
            folder.mkdir(parents=True)
            text = site_file(options.sites, port, options.crawlers, options.bandwidth)
            (folder / "sites.toml").write_text(text)
            for again in (False, True) if options.again else (False,):
                label = f"{processes} {'process' if processes == 1 else 'processes'}"
                result = _measure(
                    f"{label}{', again' if again else ''}", folder, options.sites, processes, seen
                )
                print(result.line(), flush=True)
                faults += [f"{result.name}: {fault}" for fault in result.faults()]
    print("\n" + ("\n".join(faults) or "as it should be"))
    return 1 if faults else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", type=int, default=10_000)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--crawlers", type=int, default=20)
    parser.add_argument("--bandwidth", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--keep", metavar="DIR", help="leave the collections there")
    return parser.parse_args(arguments)


def _measure(name: str, folder: Path, sites: int, processes: int, seen: Seen) -> Result:
    headgate = [str(Path(sys.executable).with_name("headgate"))]
    command = [*headgate, "crawl", "sites.toml", "--delay", "0"]
    command += ["--processes", str(processes), "--json"]
    cost = cost_of(command, folder, MOST_SECONDS)
    ended = time.monotonic()
    requests, _, last, gap = seen.take()
    collection = folder / "headgate-data"
    runs = sorted((collection / "runs").iterdir())
    report = runs[-1] / "report.json"
    done = 0
    if report.exists():
        done = sum(site["state"] == "done" for site in json.loads(report.read_bytes())["sites"])
    elif cost.exit_code:
        print(cost.output[-500:], file=sys.stderr)
    before = time.monotonic()
    subprocess.run([*headgate, "report"], cwd=folder, stdout=subprocess.DEVNULL, check=False)
    shown = time.monotonic()
    if (runs[-1] / "pages.parquet").exists():
        pq.read_table(runs[-1] / "pages.parquet")
    files = [path.stat().st_size for path in collection.rglob("*") if path.is_file()]
    return Result(
        name,
        sites,
        done=done,
        exit_code=cost.exit_code,
        requests=requests,
        seconds=cost.seconds,
        finishing=ended - last,
        cpu_ms=cost.cpu_seconds / sites * 1e3,
        peak_bytes=cost.peak_bytes,
        gap=gap,
        pages_bytes=_size(runs[-1] / "pages.parquet"),
        links_bytes=_size(runs[-1] / "links.parquet"),
        files=len(files),
        files_bytes=sum(files),
        html_bytes=_size(runs[-1] / "report.html"),
        report_seconds=shown - before,
        reading_seconds=time.monotonic() - shown,
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
