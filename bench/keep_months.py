"""A keeper over 400 days of virtual time: what grows, and what a look costs.

    python -m bench.keep_months [--days 400] [--sites 2000] [--pages 100] [--round 30]

The daemon itself with its storage, catalog, memories and volumes, on a simulated web: nothing is
virtual but sockets and time, so all CPU that is counted is Headgate's own (and some of the web's).
A page is asked again after so many days (``--round``, half to one and a half of it by site); pages
change after a day to ten years. Volumes are sealed in a process of their own, as ever.

Printed by parts of the time, and held at the end against: resident memory of the last quarter at
most 5 % above that of the second, 250 MB and 64 open files at the most, 3 ms of CPU per look, 1 KB
of catalog per visit.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from headgate.engine.watcher import Watcher
from headgate.features.keep.job import KeepJob, Stoppable
from headgate.features.keep.keeper import keep
from headgate.features.keep.recrawl.policies import keep_policy
from headgate.features.keep.sealing_child import seal_here
from headgate.features.keep.status import KeepStatus
from headgate.model.budget import Budget
from headgate.model.errors import WorldFault
from headgate.model.fetch import FetchRequest
from headgate.model.keeping import Keeping, VolumeBounds
from headgate.model.site import Site
from headgate.model.units import UNLIMITED, Seconds
from headgate.storage.collection import Collection, RunFolder
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

_BEGIN = 1_794_751_200.0
_DAY = 86_400.0
_TEXT_BYTES = 1_500
_WORDS = ("alder", "birch", "cedar", "elder", "hazel", "larch", "maple", "rowan")
_MOST_MEMORY, _MOST_FILES, _MOST_CPU, _MOST_CATALOG, _MOST_GROWTH = 250.0, 64, 3.0, 1024.0, 1.05


@dataclass(slots=True)
class _Web:
    """Without a memory of its own, so that whatever grows is the keeper's."""

    pages: int
    looks: int = 0

    def answer(self, request: FetchRequest, now: float) -> Answer:
        parts = urlsplit(request.url)
        page = 0 if parts.path == "/" else _number(parts.path)
        if page is None or page >= self.pages:
            return Answer(404)
        self.looks += 1
        version = _version(parts.netloc, page, now)
        headers = (("content-type", "text/html"), ("etag", f'"{version}"'))
        if dict(request.headers).get("If-None-Match") == f'"{version}"':
            return Answer(304, headers)
        links = "".join(f'<a href="/p{n}">{n}</a>' for n in range(1, self.pages))
        words = [_WORDS[version >> shift & 7] for shift in range(0, 21, 3)]
        text = f"<title>{parts.netloc} {page}</title><p>{' '.join(words)}</p>"
        body = text + (links if page == 0 else '<a href="/">start</a>') + "x" * _TEXT_BYTES
        return Answer(200, headers, body.encode())


def _number(path: str) -> int | None:
    digits = path.removeprefix("/p")
    return int(digits) if digits.isdigit() else None


def _version(host: str, page: int, now: float) -> int:
    """Pages change by the clock, after a day to ten years each."""
    drawn = blake2b(f"{host}/{page}".encode(), digest_size=8).digest()
    kind, phase = drawn[0] / 255, int.from_bytes(drawn[1:5]) / 2**32
    days = 10.0 ** (3.5 * kind)
    return int((now - _BEGIN) / _DAY / days + phase) + drawn[5]


class _Nothing(list[Any]):
    """Keeps nothing."""

    def append(self, _: Any) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Sample:
    day: float
    megabytes: float
    files: int
    cpu: float
    looks: int
    visits: int


@dataclass(slots=True)
class _Onlooker(Watcher[Stoppable, KeepStatus]):
    web: _Web
    samples: list[_Sample] = field(default_factory=list)
    visits: int = 0

    def on_messages(self, words: Sequence[str]) -> None:
        for word in words:
            print(f"  {word}", file=sys.stderr)

    async def watch(self, clock: VirtualClock, out: Path) -> None:
        while True:
            await asyncio.sleep(_DAY)
            if len(self.samples) % 10 == 9:
                self.visits = await asyncio.to_thread(_visits, out)
                print(self._so_far(clock), file=sys.stderr, flush=True)
            day = (clock.wall() - _BEGIN) / _DAY
            files = len(list(Path("/proc/self/fd").iterdir()))
            cpu = time.process_time()
            self.samples.append(
                _Sample(
                    day, _resident(), files=files, cpu=cpu, looks=self.web.looks, visits=self.visits
                )
            )

    def _so_far(self, clock: VirtualClock) -> str:
        day = (clock.wall() - _BEGIN) / _DAY
        return (
            f"  day {day:.0f}: {self.web.looks:,} looks, {_resident():.0f} MB,"
            f" {time.process_time():.0f} s of CPU"
        )


def _resident() -> float:
    """Megabytes, now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _visits(out: Path) -> int:
    import sqlite3

    where = f"file:{Collection(out).catalog}?mode=ro"
    with closing(sqlite3.connect(where, uri=True)) as catalog:
        found = catalog.execute("SELECT count(*) FROM visits").fetchone()[0]
        return int(found)


async def _seal_aside(run: RunFolder) -> None:
    """In a process of its own; virtual time has none but forks. It goes on beside the keeper's next
    virtual hour."""
    child = os.fork()
    if not child:
        code = 1
        try:
            seal_here(run)
            code = 0
        finally:
            os._exit(code)
    await asyncio.sleep(3_600.0)
    if os.waitpid(child, 0)[1]:
        raise WorldFault("sealing failed")


def _keep(out: Path, args: argparse.Namespace) -> _Onlooker:
    web = _Web(args.pages)
    onlooker = _Onlooker(web)
    line = Line(exchanges=_Nothing(), arrivals=_Nothing())
    names = [f"s{number:05d}.example" for number in range(args.sites)]
    spread = [0.5 + number / args.sites for number in range(args.sites)]
    sites = tuple(
        Site(
            name, (f"http://{name}/",), delay=Seconds(0.0),
            keeping=Keeping(min_interval=Seconds(args.round * _DAY * factor)),
        )
        for name, factor in zip(names, spread, strict=True)
    )  # fmt: skip
    budget = Budget(UNLIMITED, volume=VolumeBounds(Seconds(args.volume * _DAY), None))
    job = KeepJob(
        sites, budget, out, "bench", keep_policy("index"),
        seconds=args.days * _DAY, tend_seconds=300.0,
    )  # fmt: skip

    async def run(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop, _BEGIN)
        watching = asyncio.create_task(onlooker.watch(clock, out))
        parts = replace(virtual_parts(clock, web.answer, line), seal_volume=_seal_aside)
        await keep(job, parts, onlooker)
        watching.cancel()

    run_virtually(run)
    return onlooker


def _told(onlooker: _Onlooker, out: Path) -> bool:
    samples = onlooker.samples
    quarters = [samples[len(samples) * n // 4 : len(samples) * (n + 1) // 4] for n in range(4)]
    print(f"{'days':>12} {'resident':>10} {'files':>6} {'looks':>10} {'CPU per look':>13}")
    for part in quarters:
        looks = max(part[-1].looks - part[0].looks, 1)
        cpu = 1e3 * (part[-1].cpu - part[0].cpu) / looks
        memory = max(sample.megabytes for sample in part)
        files = max(sample.files for sample in part)
        days = f"{part[0].day:.0f}-{part[-1].day:.0f}"
        print(f"{days:>12} {memory:>7.0f} MB {files:>6} {looks:>10,} {cpu:>10.2f} ms")
    visits = _visits(out)
    catalog = sum(path.stat().st_size for path in out.glob("catalog.sqlite*")) / visits
    early, late = (max(one.megabytes for one in quarters[n]) for n in (1, 3))
    later = samples[len(samples) // 4 :]
    cpu = 1e3 * (later[-1].cpu - later[0].cpu) / max(later[-1].looks - later[0].looks, 1)
    bounds = [
        ("resident memory, MB", max(one.megabytes for one in samples), _MOST_MEMORY),
        ("of the last quarter to the second", late / early, _MOST_GROWTH),
        ("open files", float(max(one.files for one in samples)), float(_MOST_FILES)),
        ("ms of CPU per look, all but sockets", cpu, _MOST_CPU),
        (f"bytes of catalog per visit ({visits:,})", catalog, _MOST_CATALOG),
    ]
    for what, found, most in bounds:
        print(f"{what}: {found:.2f} (at most {most:g}){'' if found <= most else ' NOT HELD'}")
    return all(found <= most for _, found, most in bounds)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--days", type=float, default=400.0)
    parser.add_argument("--sites", type=int, default=2_000)
    parser.add_argument("--pages", type=int, default=100, help="of each site")
    parser.add_argument("--round", type=float, default=30.0, help="days between two looks")
    parser.add_argument("--volume", type=float, default=1.0, help="days of a volume")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "kept"
        return 0 if _told(_keep(out, args), out) else 1


if __name__ == "__main__":
    sys.exit(main())
