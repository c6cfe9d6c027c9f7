"""Thousands of sites at once that answer slowly: is Ctrl-C heard, and what does each hold?

    python -m bench.slow_sites                        5,000 sites, each answer after 5 s
    python -m bench.slow_sites --sites 1000 --answer-seconds 2

Each site has an address of its own in 127.0.0.0/8, all served by one process beside the crawl,
which has as many crawlers as there are sites. An interrupt is sent when all of them have been asked
for something, or after a while.

Printed: sites asked by then, and when the last of them was asked first; seconds from the interrupt
to the last request, which is how long it was not heard; seconds until the process ended; memory at
the worst moment, and per site what it is above that of a crawl of one. The exit code is 1 where a
site was not asked or the interrupt was not heard within a second.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import uvloop
from bench.many_sites import host_of

HEARD_SECONDS = 1.0
MOST_SECONDS = 200.0
PAGES = 10


@dataclass(slots=True)
class Seen:
    """What the sites saw of a crawl. Moments are monotonic."""

    requests: list[float] = field(default_factory=list)
    sites: dict[str, float] = field(default_factory=dict)
    """When each was asked first."""

    def note(self, site: str) -> None:
        now = time.monotonic()
        self.requests.append(now)
        self.sites.setdefault(site, now)


class _Slow(asyncio.Protocol):
    """One connection; requests are small enough to come in one piece."""

    def __init__(self, seen: Seen, seconds: float) -> None:
        self._seen = seen
        self._seconds = seconds

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._site = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self._seen.note(self._site)
        path = data.split(b" ", 2)[1].decode()
        asyncio.get_running_loop().call_later(self._seconds, self._answer, path)

    def _answer(self, path: str) -> None:
        if not self._transport.is_closing():
            self._transport.write(_answer(path))


def _answer(path: str) -> bytes:
    if path.endswith((".txt", ".xml")):
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    links = "".join(f"<a href='/{number}'>{number}</a>" for number in range(PAGES))
    body = f"<title>{path}</title>{links}".encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


@dataclass(frozen=True, slots=True)
class Result:
    """`tests.integration.strangers` has a small form of it."""

    asked: int
    begun_seconds: float
    """From the first request to the first of the last site."""
    interrupted: float
    """When, by the monotonic clock."""
    deaf_seconds: float
    ending_seconds: float
    peak_bytes: int
    exit_code: int


async def crawl(sites: int, answer_seconds: float, stay_seconds: float, folder: Path) -> Result:
    """Crawl them all at once; ``stay_seconds`` after all have been asked, interrupt."""
    seen = Seen()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: _Slow(seen, answer_seconds), "0.0.0.0", 0, backlog=4096
    )
    port = server.sockets[0].getsockname()[1]
    file = folder / "sites.toml"
    file.write_text(_site_file(sites, port))
    command = [sys.executable, "-m", "headgate", "crawl", str(file), "--quiet", "--json"]
    child = await asyncio.create_subprocess_exec(
        *command, "--out", str(folder / "data"), stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
    )
    ending = asyncio.create_task(child.communicate())
    late = time.monotonic() + MOST_SECONDS
    while len(seen.sites) < sites and time.monotonic() < late and not ending.done():
        await asyncio.sleep(0.05)
    asked, begun = len(seen.sites), max(seen.sites.values(), default=0.0)
    await asyncio.wait([ending], timeout=stay_seconds)
    peak = _peak_bytes(child.pid)
    interrupted = time.monotonic()
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(signal.SIGINT)
    _, complaints = await ending
    ended = time.monotonic()
    server.close()
    if child.returncode != 130:
        print(complaints.decode()[-500:], file=sys.stderr)
    return Result(
        asked,
        begun - seen.requests[0],
        interrupted=interrupted,
        deaf_seconds=max(seen.requests[-1] - interrupted, 0.0),
        ending_seconds=ended - interrupted,
        peak_bytes=peak,
        exit_code=child.returncode or 0,
    )


def _site_file(sites: int, port: int) -> str:
    return f"[budget]\ncrawlers = {sites}\n" + "".join(
        f'[site.s{number:05d}]\nseeds = ["http://{host_of(number)}:{port}/"]\n'
        for number in range(sites)
    )


def _peak_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", type=int, default=5_000)
    parser.add_argument("--answer-seconds", type=float, default=5.0)
    parser.add_argument("--stay-seconds", type=float, default=10.0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="headgate-slow-") as name:
        results = []
        for sites in (1, options.sites):
            folder = Path(name) / str(sites)
            folder.mkdir()
            stay = options.stay_seconds
            results.append(uvloop.run(crawl(sites, options.answer_seconds, stay, folder)))
    one, many = results
    each = (many.peak_bytes - one.peak_bytes) / options.sites
    print(
        f"{many.asked:,} of {options.sites:,} sites asked, the last after"
        f" {many.begun_seconds:.1f} s;"
        f" deaf for {many.deaf_seconds:.2f} s; ended after {many.ending_seconds:.1f} s;"
        f" {many.peak_bytes / 1e6:.0f} MB, {each / 1e3:.0f} KB per site"
    )
    return 1 if many.asked < options.sites or many.deaf_seconds > HEARD_SECONDS else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
