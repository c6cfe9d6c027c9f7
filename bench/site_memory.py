"""What a site's memory costs: on disk, in RAM, and in time.

    python -m bench.site_memory [--pages 1000000]

Merges runs of a made site into its memory: one that met every page and asked for half of them, one
that asked for all, one that asked for a hundredth; then reads the file in all the ways a crawl
does. Times are this process's CPU time.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha1
from pathlib import Path

from rich.console import Console
from rich.table import Table

from headgate.storage.memory.merging import Files, merge
from headgate.storage.memory.page import PageLook, Sighting
from headgate.storage.memory.site import SiteMemory

NOON = 1_794_744_000.0
LOOKUPS = 20_000


def make_url(number: int) -> str:
    return f"https://docs.example.org/section-{number % 97}/chapter/{number:07d}.html"


def met(pages: range, run: int, every: int) -> Callable[[Files], Iterator[Sighting]]:
    """A run that met these pages and asked for every so many of them."""

    def sightings(files: Files) -> Iterator[Sighting]:
        file = files.number(f"runs/2026-11-{run:02d}T00-00-00/warc/docs-00001.warc.gz")
        for number in pages:
            at = NOON + 1e6 * run + number
            if number % every:
                yield Sighting(make_url(number), 4, NOON)
                continue
            digest = sha1(b"%d" % number, usedforsecurity=False).digest()
            look = PageLook(
                at,
                200,
                error="",
                size_bytes=14_000,
                etag=f'"{number:x}-5f3a"',
                last_modified="Tue, 10 Nov 2026 10:00:00 GMT",
                digest=digest,
                content=digest[:16],
                original_url="",
                original_at=at,
                file=file,
                offset=3000 * number,
            )
            yield Sighting(make_url(number), 4, NOON, look)

    return sightings


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=1_000_000)
    pages = parser.parse_args().pages
    table = Table("what", "µs per page", "bytes per page", "peak MB")
    memory = Anonymous()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "sites" / "docs.pages"

        def run(what: str, number: int, asked: range, every: int) -> None:
            begin = time.process_time()
            with SiteMemory.checked(path, "docs") as old:
                merge(path, old, f"{number}", met(asked, number, every))
            spent = time.process_time() - begin
            table.add_row(
                what, f"{spent / len(asked) * 1e6:.1f}", per_page(path, pages), str(memory)
            )

        run("the first run met all and asked for half", 1, range(pages), 2)
        run("the second asked for all", 2, range(pages), 1)
        run("the third asked for a hundredth", 3, range(0, pages, 100), 1)
        for what, action, units in reading(path, pages):
            begin = time.process_time()
            action()
            spent = time.process_time() - begin
            table.add_row(what, f"{spent / units * 1e6:.2f}", "", str(memory))
    Console(width=100).print(table)


def reading(path: Path, pages: int) -> Iterator[tuple[str, Callable[[], object], int]]:
    yield "opened and checked before a crawl", lambda: SiteMemory.checked(path, "docs"), pages
    with SiteMemory(path, "docs") as memory:
        yield "gone through", lambda: sum(page.depth for page in memory), pages
        some = [make_url(number) for number in range(0, pages, max(1, pages // LOOKUPS))]
        yield "looked up", lambda: [memory.find(url) for url in some], len(some)


def per_page(path: Path, pages: int) -> str:
    return f"{path.stat().st_size / pages:.0f}"


class Anonymous:
    """The most memory of its own that this process had; pages of mapped files are the kernel's."""

    def __init__(self) -> None:
        self.peak = 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            status = Path("/proc/self/status").read_text(encoding="ascii")
            self.peak = max(self.peak, int(status.split("RssAnon:")[1].split()[0]) / 1024)
            time.sleep(0.01)

    def __str__(self) -> str:
        return f"{self.peak:.0f}"


if __name__ == "__main__":
    main()
