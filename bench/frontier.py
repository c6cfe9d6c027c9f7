"""What the frontier costs as a site grows. Run: python -m bench.frontier

Prints, in one run, each row in a process of its own:

1. URLs through URLseen and URLtodo with its overflow on disk, in pages of 100 links, at 10^5, 10^6
   and 10^7 URLs. Wanted: under 600 MB resident at 10^7, and per URL no more than twice
   the cost at 10^5.
   The same with a focus: 16 levels of score, and every link met a second time with another score.
2. URLseen alone beside its peers: vectorised probing of one table, Python sets, SQLite.
3. The whole frontier per page, by the number of links; nine of ten links were met before.
4. A restart: replaying a journal of 10^6 pages.

Times are CPU time of the calls, without making the URLs. Memory is the process's highest resident
size, less what it was before the first URL; "process MB" is all of it.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.events import Fetch, JournalEntry, PageFetched, Seeds, Tick, UrlOutcome
from headgate.frontier.frontier import Frontier, FrontierRules
from headgate.frontier.priority_queue import ScoredQueue
from headgate.frontier.scope import Scope
from headgate.frontier.seen_urls import UrlSeen, url_hashes
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_queue import MemorySpill, UrlQueue
from headgate.storage.spill import DiskSpill

Words = npt.NDArray[np.uint64]
CONSOLE = Console(width=100)
LINKS = 100
Answer = TypeVar("Answer")
Given = ParamSpec("Given")
HOME = "https://docs.example.org/"


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one row: CPU per unit, memory, and the longest single call."""

    microseconds: float
    megabytes: float
    resident_megabytes: float
    """Of the whole process, interpreter and libraries included."""
    longest_ms: float


class Meter:
    """CPU time of calls, and memory since the meter was made."""

    def __init__(self) -> None:
        self._before = resident_bytes()
        self._spent = 0.0
        self._longest = 0.0

    def run(
        self, call: Callable[Given, Answer], *given: Given.args, **named: Given.kwargs
    ) -> Answer:
        begin = time.process_time()
        answer = call(*given, **named)
        took = time.process_time() - begin
        self._spent += took
        self._longest = max(self._longest, took)
        return answer

    def cost(self, units: int) -> Cost:
        peak = peak_resident_bytes()
        own = (peak - self._before) / 1e6
        return Cost(self._spent / units * 1e6, own, peak / 1e6, self._longest * 1e3)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def peak_resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def url(number: int) -> str:
    return f"{HOME}section-{number % 97}/chapter-{number // 1000}/page-{number}.html"


def pages(count: int) -> Iterator[list[str]]:
    """All URLs, a page's links at a time."""
    for first in range(0, count, LINKS):
        yield [url(number) for number in range(first, first + LINKS)]


def seen_and_todo(count: int) -> Cost:
    """Every URL is met, queued up and taken out again; the queue is at its longest half-way."""
    with tempfile.TemporaryDirectory() as folder:
        spill = DiskSpill(Path(folder))
        seen, todo, meter = UrlSeen(), UrlQueue(spill), Meter()

        def step(depth: int, links: list[str]) -> None:
            todo.put(depth, seen.add(links))

        for number, links in enumerate(pages(count)):
            meter.run(step, number * LINKS * 8 // count, links)
        taken = 0
        while len(todo):
            taken += len(meter.run(todo.pop, 50))
        assert taken == count
        spill.close()
        return meter.cost(count)


def seen_and_scored_todo(count: int) -> Cost:
    """The same with a focus: scores as a topic gives them, most of them low, some links again."""
    with tempfile.TemporaryDirectory() as folder:
        spill = DiskSpill(Path(folder))
        seen, meter = UrlSeen(), Meter()
        todo = ScoredQueue(spill, 1000, depth_first=False)
        rng = np.random.default_rng(1)
        before: list[str] = []

        def step(depth: int, links: list[str], scores: dict[str, float]) -> None:
            todo.accept(depth, seen.add(links), scores)

        for number, links in enumerate(pages(count)):
            met = [*links, *before[:LINKS]]
            scores = dict(zip(met, rng.beta(1, 3, len(met)).tolist(), strict=True))
            meter.run(step, number * LINKS * 8 // count, met, scores)
            before = links
        taken = 0
        while len(todo):
            taken += len(meter.run(todo.pop, 50))
        assert taken == count
        spill.close()
        return meter.cost(count)


def seen_alone(count: int) -> Cost:
    seen, meter = UrlSeen(), Meter()
    for links in pages(count):
        meter.run(seen.add, links)
    return meter.cost(count)


def seen_again(count: int) -> Cost:
    """The same for URLs that were met before, in another order: the common case of a crawl."""
    seen, meter = UrlSeen(), Meter()
    for links in pages(count):
        seen.add(links)
    order = np.random.default_rng(1).permutation(count)[:500_000].reshape(-1, LINKS)
    for numbers in order:
        links = [url(number) for number in numbers.tolist()]
        meter.run(seen.add, links)
    return meter.cost(order.size)


def vectorised_table(count: int) -> Cost:
    """One open-addressing table, large enough from the start, probed by whole pages."""
    meter = Meter()
    table = np.zeros(1 << (3 * count // 2).bit_length(), np.uint64)

    def meet(links: list[str]) -> list[str]:
        hashes = np.frombuffer(url_hashes(links), np.uint64)
        new = _probe(table, hashes)
        return [links[position] for position in np.flatnonzero(new)]

    for links in pages(count):
        meter.run(meet, links)
    return meter.cost(count)


def _probe(table: Words, hashes: Words) -> npt.NDArray[np.bool_]:
    new = np.zeros(len(hashes), bool)
    asking = np.arange(len(hashes))
    mask = len(table) - 1
    at = (hashes & np.uint64(mask)).astype(np.int64)
    while asking.size:
        empty = table[at] == 0
        table[at[empty]] = hashes[asking[empty]]
        settled = table[at] == hashes[asking]
        new[asking[settled & empty]] = True
        asking, at = asking[~settled], (at[~settled] + 1) & mask
    return new


def set_of_hashes(count: int) -> Cost:
    known: set[int] = set()
    meter = Meter()

    def meet(links: list[str]) -> list[str]:
        new = []
        for link, hashed in zip(links, url_hashes(links).tolist(), strict=True):
            if hashed not in known:
                known.add(hashed)
                new.append(link)
        return new

    for links in pages(count):
        meter.run(meet, links)
    return meter.cost(count)


def set_of_strings(count: int) -> Cost:
    known: set[str] = set()
    meter = Meter()

    def meet(links: list[str]) -> list[str]:
        new = [link for link in links if link not in known]
        known.update(new)
        return new

    for links in pages(count):
        meter.run(meet, links)
    return meter.cost(count)


def sqlite(count: int) -> Cost:
    """A table with the URL's hash as its key, in a file, never made durable."""
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(Path(folder) / "seen.sqlite", isolation_level=None)
        base.execute("PRAGMA journal_mode = OFF")
        base.execute("PRAGMA synchronous = OFF")
        base.execute("CREATE TABLE seen (hash INTEGER PRIMARY KEY)")
        base.execute("BEGIN")
        meter = Meter()

        def meet(links: list[str]) -> int:
            rows = [(value,) for value in np.frombuffer(url_hashes(links), np.int64).tolist()]
            return base.executemany("INSERT OR IGNORE INTO seen VALUES (?)", rows).rowcount

        for links in pages(count):
            meter.run(meet, links)
        base.close()
        return meter.cost(count)


def whole_frontier(links: int) -> Cost:
    """One in ten links is new, four are of the last thousand found, five on every page."""
    pages_fetched = 10_000
    frontier = new_frontier()
    flights = [c.url for c in frontier.handle(Seeds([HOME]), 0.0) if isinstance(c, Fetch)]
    everywhere = [f"{HOME}menu/entry-{number}.html" for number in range(links // 2)]
    rng = np.random.default_rng(1)
    meter, found = Meter(), 1000
    for page in range(pages_fetched):
        new = range(found, found + max(1, links // 10))
        old = found - rng.integers(1, 1000, links - len(everywhere) - len(new))
        found = new.stop
        on_page = [*everywhere, *map(url, old.tolist()), *map(url, new)]
        digest = page.to_bytes(8, "little") * 2
        event = PageFetched(flights.pop(0), [link[:9] + link[9:] for link in on_page], digest)
        commands = meter.run(frontier.handle, event, 0.0)
        flights += [command.url for command in commands if isinstance(command, Fetch)]
    return meter.cost(pages_fetched)


def replay(count: int) -> Cost:
    """Each page brought three URLs, of which one was fetched later: two thirds are to do."""

    def read() -> Iterator[JournalEntry]:
        yield JournalEntry(UrlOutcome.FOUND, found=[url(0)])
        for page in range(count):
            found = [url(page + 1), url(count + 2 * page + 1), url(count + 2 * page + 2)]
            digest = page.to_bytes(8, "little") * 2
            yield JournalEntry(UrlOutcome.PAGE, url(page), found, page * 8 // count, digest)

    frontier, making, replaying = new_frontier(), Meter(), Meter()
    making.run(lambda: [sum(1 for _ in read()) for _ in range(2)])
    replaying.run(frontier.replay, read)
    frontier.handle(Tick(), 0.0)
    assert frontier.tally.to_do + frontier.tally.in_flight == 2 * count + 1
    cost = replaying.cost(count)
    return replace(cost, microseconds=cost.microseconds - making.cost(count).microseconds)


def new_frontier() -> Frontier:
    rules = FrontierRules(TrapRules(this_year=2026), DispatchRules(robots=False))
    return Frontier(Scope([HOME]), MemorySpill(), rules)


def alone(case: Callable[[int], Cost], size: int) -> Cost:
    """In a new process, so that memory is the case's own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(case, size).result()


def show_growth(case: Callable[[int], Cost], words: str, sizes: list[int]) -> None:
    table = Table(
        "URLs", "µs per URL", "against 10^5", "MB", "bytes per URL", "process MB", "longest call ms"
    )
    first = None
    for size in sizes:
        cost = alone(case, size)
        first = first or cost.microseconds
        table.add_row(
            f"{size:,}",
            f"{cost.microseconds:.2f}",
            f"{cost.microseconds / first:.2f}",
            f"{cost.megabytes:.0f}",
            f"{cost.megabytes * 1e6 / size:.1f}",
            f"{cost.resident_megabytes:.0f}",
            f"{cost.longest_ms:.1f}",
        )
    CONSOLE.print(f"URLseen and URLtodo, overflow on disk, {words}")
    CONSOLE.print(table)


def show_peers(size: int) -> None:
    table = Table("URLseen", "µs per URL", "MB", "bytes per URL", "longest call ms")
    cases: dict[str, Callable[[int], Cost]] = {
        "ours, URLs all new": seen_alone,
        "ours, URLs all met before": seen_again,
        "one NumPy table, vectorised": vectorised_table,
        "Python set of hashes": set_of_hashes,
        "Python set of URLs": set_of_strings,
        "SQLite, hash as key": sqlite,
    }
    for name, case in cases.items():
        cost = alone(case, size)
        each = f"{cost.megabytes * 1e6 / size:.1f}" if case is not seen_again else ""
        table.add_row(
            name,
            f"{cost.microseconds:.2f}",
            f"{cost.megabytes:.0f}" if each else "",
            each,
            f"{cost.longest_ms:.1f}",
        )
    CONSOLE.print(f"Peers at {size:,} URLs, pages of 100 links")
    CONSOLE.print(table)


def show_pages() -> None:
    table = Table("links on a page", "µs per page", "µs per link")
    for links in (10, 50, 100, 200, 1000):
        cost = alone(whole_frontier, links)
        table.add_row(str(links), f"{cost.microseconds:.1f}", f"{cost.microseconds / links:.2f}")
    CONSOLE.print("The whole frontier, from PageFetched to the next Fetch; one link in ten is new")
    CONSOLE.print(table)


def show_replay(size: int) -> None:
    cost = alone(replay, size)
    seconds = cost.microseconds * size / 1e6
    CONSOLE.print(
        f"Replay of {size:,} pages with {3 * size:,} URLs found: {seconds:.1f} s, "
        f"{cost.microseconds:.2f} µs per page (two thirds of the URLs stay to do, in memory here)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="What the frontier costs as a site grows.")
    parser.add_argument("--most", type=int, default=10**7, help="URLs at the most")
    most = parser.parse_args().most
    sizes = [size for size in (10**5, 10**6, 10**7) if size <= most]
    show_growth(seen_and_todo, "pages of 100 links, all new", sizes)
    show_growth(seen_and_scored_todo, "with a focus, 100 new links and 100 known ones", sizes)
    show_peers(most)
    show_pages()
    show_replay(most // 10)


if __name__ == "__main__":
    main()
