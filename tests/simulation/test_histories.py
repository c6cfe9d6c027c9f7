"""Nothing is lost between runs, whatever happens: random histories against a plain reckoning."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .history import History
from .scripted_web import Bounds, Kind, PageScript

PAGES = 7
numbers = st.integers(0, PAGES - 1)
STILL: list[Kind] = [kind for kind in Kind if kind is not Kind.MOVED]


def scripts(kinds: list[Kind]) -> st.SearchStrategy[PageScript]:
    kind = st.sampled_from([Kind.THERE] * len(kinds) + kinds)
    links = st.lists(numbers, max_size=3, unique=True).map(tuple)
    return st.builds(PageScript, kind, links, st.integers(0, 3), st.booleans())


def changes(kinds: list[Kind]) -> st.SearchStrategy[dict[int, PageScript]]:
    return st.dictionaries(numbers, scripts(kinds), max_size=3)


free = st.builds(Bounds, st.sampled_from([(0,), (0, 1)]))
bounded = st.builds(
    Bounds,
    st.sampled_from([(0,), (0, 1)]),
    st.none() | st.integers(0, 3),
    st.sampled_from(["", "", "p3", "p[56]"]),
)
cut = st.none() | st.integers(0, 6)
manner = st.fixed_dictionaries(
    {
        "kill_at": cut,
        "commit_every": st.integers(1, 4),
        "stop_at": cut,
        "sealed_and_killed": st.booleans(),
    }
)
loss = st.sampled_from(["", "", "", "", "memory", "archives"])
nothing: frozenset[int] = frozenset()
disallowed = st.just(nothing) | st.frozensets(numbers, max_size=2)


@st.composite
def histories(draw: st.DrawFn) -> Any:
    """With pages that redirect, or with bounds: at a maximum depth it depends on the order whether
    a redirect or a link comes first, which is older than this."""
    kinds, bounds = (list(Kind), free) if draw(st.booleans()) else (STILL, bounded)
    web = draw(st.fixed_dictionaries({number: scripts(kinds) for number in range(PAGES)}))
    step = st.tuples(changes(kinds), disallowed, bounds, manner, loss)
    return web, draw(st.lists(step, min_size=1, max_size=5))


@settings(max_examples=60)
@given(histories())
def test_what_is_known_is_what_a_fresh_crawl_finds_and_what_was_known(history: Any) -> None:
    web, steps = history
    with TemporaryDirectory() as folder:
        crawls = History(Path(folder))
        crawls.web.pages = dict(web)
        for change, forbidden, bounds, manners, lost in steps:
            crawls.web.pages.update(change)
            crawls.web.disallowed = forbidden
            crawls.run(bounds, **manners)
            if lost == "memory":
                crawls.lose_memory()
            elif lost == "archives":
                crawls.lose_archives()


@pytest.mark.parametrize("depth", [None, 2])
def test_a_stopped_run_goes_on_with_what_it_left(tmp_path: Path, depth: int | None) -> None:
    """Without validators, each page costs the same again: what no run asked for goes first."""
    crawls = History(tmp_path)
    leaves = tuple(range(4, 16))
    crawls.web.pages = {number: PageScript(validators=False) for number in leaves}
    crawls.web.pages |= {0: PageScript(links=(1, 2, 3), validators=False)}
    crawls.web.pages |= {n: PageScript(links=leaves[4 * n - 4 : 4 * n], validators=False)
                         for n in (1, 2, 3)}  # fmt: skip
    asked: set[int] = set()
    for _ in range(4):
        crawls.run(Bounds(depth=depth), stop_at=7)
        asked |= set(crawls.web.answered)
    assert asked == set(range(16))


def test_a_page_that_nothing_leads_to_is_kept_but_brings_nothing_new(tmp_path: Path) -> None:
    crawls = History(tmp_path)
    crawls.web.pages = {0: PageScript(links=(1,)), 1: PageScript(), 2: PageScript()}
    crawls.run(Bounds())
    crawls.web.pages |= {0: PageScript(), 1: PageScript(links=(2,))}
    crawls.run(Bounds())
    assert set(crawls.known) == {0, 1}


def test_depths_are_those_of_todays_links(tmp_path: Path) -> None:
    """A shorter way lets in what a longer one kept out; a longer one forgets nothing."""
    crawls = History(tmp_path)
    chain = {0: PageScript(links=(1,)), 1: PageScript(links=(2,)), 2: PageScript(links=(3,))}
    crawls.web.pages = {**chain, 3: PageScript(links=(4,)), 4: PageScript()}
    crawls.run(Bounds(depth=2))
    assert {number: page.depth for number, page in crawls.known.items()} == {0: 0, 1: 1, 2: 2}
    crawls.web.pages[0] = PageScript(links=(1, 2))
    crawls.run(Bounds(depth=2))
    assert {number: page.depth for number, page in crawls.known.items()} == {0: 0, 1: 1, 2: 1, 3: 2}
    crawls.web.pages[0] = PageScript(links=(1,))
    crawls.run(Bounds(depth=2))
    assert crawls.last_asked == {0, 1, 2, 3}
    assert crawls.known[2].depth == 2


def test_a_resumed_run_with_nothing_of_its_own_left_follows_what_others_left(
    tmp_path: Path,
) -> None:
    """It asked for such pages and left out what they link to."""
    crawls = History(tmp_path)
    crawls.web.pages = {0: PageScript(), 1: PageScript(links=(2,)), 2: PageScript()}
    crawls.run(Bounds((0, 1)), stop_at=0)
    crawls.run(Bounds((0,)), kill_at=1)
    assert crawls.last_asked == {0, 1, 2}
