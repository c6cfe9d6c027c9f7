"""A crawl without a network, to be killed: says on its output which pages it reports stored.

Its web is a tree: page n links to pages 2n+1 and 2n+2. Run as
``python -m tests.integration.storage.crawl_child FOLDER PAGES SEED STOP``. It waits to be killed
when it has stored STOP pages, if that is a number, or when a file of the name STOP has come to its
place; with ``-`` it goes on to its end.
"""

from __future__ import annotations

import itertools
import signal
import sys
from collections import deque
from pathlib import Path

import numpy as np
from tests.integration.storage.crawled import STARTED
from tests.unit.storage.warc.making import make_page, make_url

from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.spool import SiteSpool

ROLL_BYTES = 30_000
MOST_PAGES_PER_COMMIT = 40


def main(folder: Path, pages: int, seed: int, stop: str) -> None:
    collection = Collection(folder)
    with collection.lock():
        run = collection.unfinished_run() or collection.new_run(STARTED)
        crawl(run, pages, np.random.default_rng(seed), int(stop) if stop.isdigit() else None)
        say("sealing")
        from headgate.storage.sealing import seal  # brings pyarrow, which most children never need

        stop_behind(stop)
        seal(run)
        run.finish()
        say("finished")


def crawl(run: RunFolder, pages: int, chance: np.random.Generator, most: int | None) -> None:
    spool = SiteSpool(run.place("tree", max_warc_bytes=ROLL_BYTES))
    to_do = recover(spool)
    say("crawling")
    stored = itertools.count(1)
    while to_do:
        size = min(len(to_do), int(chance.integers(1, MOST_PAGES_PER_COMMIT)))
        batch = [to_do.popleft() for _ in range(size)]
        for number in batch:
            found = [child for child in (2 * number + 1, 2 * number + 2) if child < pages]
            urls = [make_url(child) for child in found]
            entry = JournalEntry(UrlOutcome.PAGE, make_url(number), urls, 1)
            spool.put(make_page(number), entry)
            to_do.extend(found)
        spool.commit()
        for number in batch:
            say(f"stored {make_url(number)}")
            if next(stored) == most:
                wait_to_be_killed()
    spool.finish()
    spool.commit()
    spool.close()


def recover(spool: SiteSpool) -> deque[int]:
    """What was found and not done, in the order of its finding."""
    to_do: dict[str, None] = {}
    for entry in spool.entries():
        for url in entry.found:
            assert url not in to_do, "a URL was found twice"
            to_do[url] = None
        if entry.url:
            del to_do[entry.url]
    if not to_do and not spool.finished:
        spool.record(JournalEntry(UrlOutcome.FOUND, found=[make_url(0)]))
        to_do[make_url(0)] = None
    return deque(int(url.rpartition("/")[2].removesuffix(".html")) for url in to_do)


def stop_behind(name: str) -> None:
    """Everything that is made whole beside its place comes there by this call."""
    place = Path.replace

    def replace(part: Path, target: Path) -> Path:
        placed = place(part, target)
        if target.name == name:
            wait_to_be_killed()
        return placed

    Path.replace = replace  # type: ignore[method-assign,assignment]


def wait_to_be_killed() -> None:
    say("waiting")
    signal.pause()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
