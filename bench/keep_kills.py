"""A keeper that is killed again and again loses no version and stores none twice.

    python -m bench.keep_kills [--kills 100] [--keep-versions 2] [--seed 1]

A small web on loopback has pages that change by themselves. `headgate keep` is started, left alone
for a moment and ended with SIGKILL. In every second round somebody waits until a volume is being
sealed: then the sealing process is killed at a random moment of its work, and the keeper soon
after, or the keeper alone in the midst of it. In the end it runs once more in peace. Then: every
version that the memory ever named is in the archive; no record is twice in an index; memory and
catalog agree on the last visit; every volume is sealed, every line of an index leads to a record
that can be replayed, and `headgate report` opens every volume.

With ``--keep-versions`` old versions are removed after each volume, by a process that is killed
like the sealer. Then of each page the newest version is there, and as many as were to stay.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from headgate.cli.keep_progress import keep_watched
from headgate.features.keep.job import KeepRequest
from headgate.model.keeping import VolumeBounds
from headgate.model.units import Seconds
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection
from headgate.storage.memory.site import SiteMemory

PAGES = 12
CHANGES_SECONDS = 2.0
VOLUME_SECONDS = 4.0
SEAL_SECONDS = 1.5
"""About so long a volume is being sealed, so kills within it hit the work at any point."""


@dataclass(slots=True)
class _Web:
    """Pages with a version that is the time since the start, each at its own pace."""

    began: float = field(default_factory=time.monotonic)
    port: int = 0
    requests: int = 0

    def version(self, page: int) -> int:
        return int((time.monotonic() - self.began) / (CHANGES_SECONDS * (1 + page % 4)))

    def body(self, page: int) -> bytes:
        links = "".join(f'<a href="/{other}">{other}</a>' for other in range(PAGES))
        text = f"<title>{page}</title><p>version {self.version(page)} of {page}</p>{links}"
        return (text + "x" * 3000).encode()


@contextmanager
def _serving(web: _Web) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            web.requests += 1
            name = self.path.strip("/") or "0"
            if not name.isdigit():
                self.send_error(404)
                return
            body = web.body(int(name))
            etag = f'"{web.version(int(name))}"'
            same = self.headers.get("If-None-Match") == etag
            self.send_response(304 if same else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("ETag", etag)
            self.send_header("Content-Length", "0" if same else str(len(body)))
            self.end_headers()
            if not same:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Whoever asked was killed."""

    server = Server(("127.0.0.1", 0), Handler)
    web.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(frozen=True, slots=True)
class Killed:
    kills: int
    sealers: int
    """Sealing processes that were killed while they worked."""
    removers: int
    """Of them: processes that were removing old versions."""
    sealing: int
    """Keepers that were killed while theirs worked."""
    visits: int
    volumes: int
    problems: list[str]


def keep_and_kill(folder: Path, kills: int, seed: int, newest: int | None = None) -> Killed:
    """``problems`` is empty where all is as it should be; ``newest``: versions that stay."""
    chance = random.Random(seed)
    web, out, sites = _Web(), folder / "kept", folder / "sites.toml"
    stored: set[tuple[str, str]] = set()
    sealers = removers = sealing = 0
    rule = "" if newest is None else f"keep_versions = {newest}\n"
    with _serving(web):
        sites.write_text(
            f'[site.wiki]\nseeds = ["http://127.0.0.1:{web.port}/"]\n'
            'min_interval = "1s"\nfresh_within = "10s"\n' + rule
        )
        for number in range(kills):
            process = _start(sites, out)
            _until_asked(web)
            if number % 2:
                _until_sealing(process.pid)
                time.sleep(chance.uniform(0.0, SEAL_SECONDS))
                if chance.random() < 0.7:
                    removing = _is_removing(process.pid)
                    killed = _kill_sealer(process.pid)
                    sealers += killed
                    removers += killed and removing
                    time.sleep(chance.uniform(0.0, 1.0))
            else:
                time.sleep(chance.uniform(0.0, 4.0))
            sealing += _sealer(process.pid) is not None
            process.kill()
            process.wait()
            stored |= _stored(out)
        peace = _start(sites, out, "6s")
        peace.wait()
    problems = [] if peace.returncode == 0 else [f"the last keeper ended with {peace.returncode}"]
    problems += problems_of(out, stored, newest)
    with SqliteCatalog(Collection(out).catalog) as catalog:
        visits = len(catalog.history("wiki", 1_000_000))
    return Killed(
        kills,
        sealers,
        removers=removers,
        sealing=sealing,
        visits=visits,
        volumes=len(Collection(out).runs()),
        problems=problems,
    )


def _until_asked(web: _Web) -> None:
    """A keeper that has not begun yet has nothing to lose. One may have nothing to ask for long."""
    before = web.requests
    for _ in range(300):
        if web.requests > before:
            return
        time.sleep(0.05)


def _start(sites: Path, out: Path, duration: str = "1h") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench.keep_kills", "--keep", str(sites), str(out), duration],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _keep_here(sites: str, out: str, duration: str) -> None:
    """As the command does, with volumes shorter than a user may have them."""
    request = KeepRequest(Path(sites), lambda path: path.read_text(), duration=duration)
    job = request.job(Path(out))
    budget = replace(job.budget, volume=VolumeBounds(Seconds(VOLUME_SECONDS), None))
    asyncio.run(keep_watched(replace(job, budget=budget), quiet=True))


def _until_sealing(keeper: int) -> None:
    """Or until it takes too long."""
    for _ in range(600):
        if _sealer(keeper) is not None:
            return
        time.sleep(0.05)


def _sealer(keeper: int) -> int | None:
    """The keeper's own child that seals, if there is one that works."""
    with suppress(OSError):
        children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
        for child in children:
            if b"sealing_child" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
    return None


def _is_removing(keeper: int) -> bool:
    child = _sealer(keeper)
    with suppress(OSError):
        return b"retain" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
    return False


def _kill_sealer(keeper: int) -> int:
    child = _sealer(keeper)
    if child is None:
        return 0
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
        return 1
    return 0


def _stored(out: Path) -> set[tuple[str, str]]:
    """URL and content of all versions that the memory names now: they were reported stored."""
    path = Collection(out).memory("wiki")
    if not path.exists():
        return set()
    with SiteMemory(path, "wiki") as memory:
        return {(page.url, page.digest.hex()) for page in memory if page.digest}


def problems_of(out: Path, stored: set[tuple[str, str]], newest: int | None = None) -> list[str]:
    from base64 import b32decode

    problems = []
    collection = Collection(out)
    found: set[tuple[str, str]] = set()
    for run in collection.runs():
        if run.unfinished:
            problems.append(f"{run.stamp} is not sealed")
            continue
        if not _report_opens(out, run.stamp):
            problems.append(f"{run.stamp}: 'headgate report' does not open it")
        lines = (run.path / "index.cdxj").read_text().splitlines()
        places = []
        for line in lines:
            fields = json.loads(line.split(" ", 2)[2])
            places.append((fields["filename"], fields["offset"]))
            if fields["digest"] != "-":
                digest = b32decode(fields["digest"].removeprefix("sha1:"))
                found.add((fields["url"], digest.hex()))
        if len(places) != len(set(places)):
            problems.append(f"{run.stamp}: a record is twice in the index")
    problems += _unreplayable(out)
    problems += _lost(stored, found, _stored(out), newest)
    with (
        SqliteCatalog(collection.catalog) as catalog,
        SiteMemory.checked(collection.memory("wiki"), "wiki") as memory,
    ):
        state = catalog.site_states()["wiki"]
        if state.visit != memory.summary.visit:
            problems.append(f"catalog: visit {state.visit}, memory: {memory.summary.visit}")
        numbers = [visit.visit for visit in catalog.history("wiki", 1_000_000)]
        if len(numbers) != len(set(numbers)):
            problems.append("a visit is twice in the catalog")
    return problems


def _lost(
    stored: set[tuple[str, str]],
    found: set[tuple[str, str]],
    last: set[tuple[str, str]],
    newest: int | None,
) -> list[str]:
    """``last`` are the versions that the memory names in the end."""
    if newest is None:
        return [f"lost: {url}" for url, _ in sorted(stored - found)]
    problems = [f"lost, the newest: {url}" for url, _ in sorted(last - found)]
    for url in sorted({url for url, _ in stored}):
        seen, left = (sum(one == url for one, _ in pairs) for pairs in (stored, found))
        if left < min(seen, newest):
            problems.append(f"{url}: {left} versions left of {seen}")
    return problems


def _unreplayable(out: Path) -> list[str]:
    """Lines of indexes that lead nowhere: to no record of the URL, or to a revisit of none."""
    lines = []
    for index in sorted(out.glob("runs/*/index.cdxj")):
        for line in index.read_text().splitlines():
            _, stamp, fields = line.split(" ", 2)
            lines.append((stamp, json.loads(fields)))
    moments = {(fields["url"], stamp) for stamp, fields in lines}
    problems = []
    for stamp, fields in lines:
        with (out / fields["filename"]).open("rb") as file:
            file.seek(int(fields["offset"]))
            record = next(iter(ArchiveIterator(file, check_digests=True)))
            headers = record.rec_headers
            to = (fields["url"], stamp)
            if record.rec_type == "revisit":
                date = headers.get_header("WARC-Refers-To-Date")
                named = headers.get_header("WARC-Refers-To-Target-URI")
                to = (named, date.translate({ord(c): None for c in "-:TZ"}))
            record.content_stream().read()
            whole = record.digest_checker.passed is not False
        if headers.get_header("WARC-Target-URI") != fields["url"] or not whole:
            problems.append(f"{fields['url']} of {stamp}: its line leads to something else")
        elif to not in moments:
            problems.append(f"{fields['url']} of {stamp}: what it refers to is gone")
    return problems


def _report_opens(out: Path, stamp: str) -> bool:
    page = out / "runs" / stamp / "report.html"
    page.unlink(missing_ok=True)
    command = [sys.executable, "-m", "headgate", "report", str(out), "--run", stamp]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.returncode == 0 and stamp.encode() in done.stdout and page.stat().st_size > 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--keep-versions", type=int, help="remove older ones meanwhile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.keep:
        _keep_here(*args.keep)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        done = keep_and_kill(Path(folder), args.kills, args.seed, args.keep_versions)
    print(
        f"{done.kills} kills of the keeper, {done.sealing} of them while a volume was being sealed,"
        f" and {done.sealers} of its sealer, {done.removers} of those while it removed versions:"
        f" {done.visits} visits in {done.volumes} volumes"
    )
    for problem in done.problems:
        print(f"PROBLEM: {problem}")
    print("no version lost, none twice" if not done.problems else "NOT AS IT SHOULD BE")
    return bool(done.problems)


if __name__ == "__main__":
    sys.exit(main())
