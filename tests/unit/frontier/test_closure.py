"""Larger webs than the state machine has: whatever the timing, the pages are the link closure.

With a maximum depth this is the test of strict levels: a page that comes late must not change the
depth at which another is first met.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.frontier.driving import HOME, Driver, rules

from headgate.frontier.events import ErrorStatus, FetchFailed, PageFetched, Seeds, Tick, Wait
from headgate.frontier.scope import Scope
from headgate.model.fetch import FailureKind

Web = dict[str, list[str]]


def chain_with_shortcuts(pages: int, rng: np.random.Generator) -> Web:
    """Each page links to the next and to a few ahead: many ways, of many lengths, to each page."""
    web: Web = {}
    for page in range(pages):
        ahead = {page + 1, *(page + rng.integers(1, 12, 3)).tolist()}
        web[f"{HOME}{page}"] = [f"{HOME}{target}" for target in sorted(ahead) if target < pages]
    return web


def closure(web: Web, seed: str, depth: int | None) -> set[str]:
    met, level, reached = {seed}, [seed], 0
    while level and (depth is None or reached < depth):
        links = dict.fromkeys(link for page in level for link in web[page])
        level = [link for link in links if link not in met]
        met.update(level)
        reached += 1
    return met


def crawl(web: Web, seed: str, depth: int | None, rng: np.random.Generator) -> set[str]:
    driver = Driver(Scope([HOME], depth=depth), rules(slots=5, memory=40))
    commands = driver.send(Seeds([seed]))
    troubled: set[str] = set()
    while driver.flights or any(isinstance(command, Wait) for command in commands):
        if not driver.flights or rng.random() < 0.1:
            driver.now += 1.5
            commands = driver.send(Tick())
            continue
        url = driver.in_flight[rng.integers(len(driver.flights))]
        if url not in troubled and rng.random() < 0.2:
            troubled.add(url)
            failure = FetchFailed(url, FailureKind.STALLED)
            commands = driver.send(failure if rng.random() < 0.5 else ErrorStatus(url, 500))
        else:
            commands = driver.send(PageFetched(url, web[url]))
    assert not driver.frontier.tally.given_up
    return {entry.url for entry in driver.journal if entry.url}


@pytest.mark.parametrize("depth", [None, 1, 6, 15])
@pytest.mark.parametrize("seed", range(3))
def test_pages_do_not_depend_on_timing(seed: int, depth: int | None) -> None:
    rng = np.random.default_rng(seed)
    web = chain_with_shortcuts(200, rng)
    start = f"{HOME}0"
    assert crawl(web, start, depth, rng) == closure(web, start, depth)
