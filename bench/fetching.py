"""What a fetch costs: microseconds of CPU per page, ours beside pycurl and aiohttp, in one run.

    python -m bench.fetching [--pages 20000] [--tls]

One client process at a time, 64 connections kept alive, pages of 16 KB from nginx on loopback (or
from a small server of our own where there is no nginx), nothing limited. Ours includes building the
whole `Fetched` value. CPU is the client's own, user and system; rounds alternate and the median
counts, because neighbours on the machine come and go.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path

CONNECTIONS = 64
PAGE_BYTES = 16 * 1024
ROUNDS = 3


async def _ours(url: str, pages: int) -> None:
    from headgate.fetching.http import FetcherSettings, HttpFetcher
    from headgate.fetching.limits import Limits
    from headgate.model.fetch import Fetched, FetchRequest

    settings = FetcherSettings(
        "bench",
        Limits(connections_per_host=CONNECTIONS),
        named=frozenset({"127.0.0.1"}),
        verify_tls=False,
    )
    async with HttpFetcher(settings) as fetcher:

        async def one() -> None:
            fetched = await fetcher.fetch(FetchRequest(url, "site", 17_000, 1_000_000))
            assert isinstance(fetched, Fetched), fetched
            assert len(fetched.payload) == PAGE_BYTES

        await _at_once(one, pages)


async def _aiohttp(url: str, pages: int) -> None:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=False)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def one() -> None:
            async with session.get(url) as response:
                assert len(await response.read()) == PAGE_BYTES

        await _at_once(one, pages)


async def _at_once(one: Callable[[], Coroutine[None, None, None]], pages: int) -> None:
    left = pages

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await one()

    await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))


def _pycurl(url: str, pages: int) -> None:
    import pycurl

    multi = pycurl.CurlMulti()
    bodies: dict[pycurl.Curl, list[bytes]] = {}
    left = pages

    def start(handle: pycurl.Curl) -> None:
        nonlocal left
        left -= 1
        bodies[handle].clear()
        multi.add_handle(handle)

    for _ in range(CONNECTIONS):
        handle = pycurl.Curl()
        parts: list[bytes] = []
        bodies[handle] = parts
        handle.setopt(pycurl.URL, url)
        handle.setopt(pycurl.SSL_VERIFYPEER, 0)
        handle.setopt(pycurl.SSL_VERIFYHOST, 0)
        handle.setopt(pycurl.WRITEFUNCTION, parts.append)
        start(handle)
    running = CONNECTIONS
    while running:
        _, running = multi.perform()
        _, done, failed = multi.info_read()
        assert not failed, failed
        for handle in done:
            multi.remove_handle(handle)
            assert len(b"".join(bodies[handle])) == PAGE_BYTES
            if left > 0:
                start(handle)
                running += 1
        multi.select(1.0)


CLIENTS = ("headgate", "pycurl", "aiohttp")


def run_client(name: str, url: str, pages: int) -> float:
    """Microseconds of CPU per page, in this process."""
    import uvloop

    before = resource.getrusage(resource.RUSAGE_SELF)
    if name == "pycurl":
        _pycurl(url, pages)
    else:
        uvloop.run((_ours if name == "headgate" else _aiohttp)(url, pages))
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used / pages * 1e6


@contextmanager
def serving(*, tls: bool) -> Iterator[str]:
    """A web server's URL."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "page").write_bytes(os.urandom(PAGE_BYTES))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if shutil.which("nginx"):
            server = subprocess.Popen(["nginx", "-c", str(_nginx_file(folder, port, tls))])
        elif tls:
            raise RuntimeError("TLS needs nginx: apt-get install nginx-light")
        else:
            command = [sys.executable, "-m", "bench.bed.server", str(port)]
            server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            time.sleep(1.0)
            path = "page" if shutil.which("nginx") else f"bytes/{PAGE_BYTES}/page"
            yield f"{'https' if tls else 'http'}://127.0.0.1:{port}/{path}"
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()


def _nginx_file(folder: Path, port: int, tls: bool) -> Path:
    secure = ""
    if tls:
        words = (
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x"
        )
        files = ["-keyout", str(folder / "key"), "-out", str(folder / "cert")]
        subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)
        secure = f"ssl_certificate {folder}/cert; ssl_certificate_key {folder}/key;"
    settings = folder / "nginx.conf"
    settings.write_text(
        f"worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/log;"
        "events { worker_connections 1024; }"
        "http { access_log off; keepalive_requests 1000000000; sendfile on; tcp_nopush on;"
        f"open_file_cache max=10; {secure}"
        f"server {{ listen 127.0.0.1:{port}{' ssl' * tls}; root {folder}; }} }}"
    )
    return settings


def compare(pages: int, *, tls: bool) -> dict[str, list[float]]:
    costs: dict[str, list[float]] = {name: [] for name in CLIENTS}
    with serving(tls=tls) as url:
        for _ in range(ROUNDS):
            for name in CLIENTS:
                command = [sys.executable, "-m", "bench.fetching", "--client", name, "--url", url]
                command += ["--pages", str(pages)]
                said = subprocess.run(command, capture_output=True, text=True, check=True)
                costs[name].append(float(json.loads(said.stdout)))
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.fetching", description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--client", choices=CLIENTS, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        print(json.dumps(run_client(arguments.client, arguments.url, arguments.pages)))
        return
    for name, costs in compare(arguments.pages, tls=arguments.tls).items():
        rounds = ", ".join(f"{cost:.1f}" for cost in costs)
        print(f"{name:<10} {statistics.median(costs):6.1f} µs CPU per page   ({rounds})")


if __name__ == "__main__":
    main()
