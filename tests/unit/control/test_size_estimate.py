"""Sizes foretold while a site is crawled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.control.shaped_sites import Links, chain, crawled, python_documentation, star, tree

from headgate.control.forecast import Forecast, Source, forecast
from headgate.control.size_estimate import SizeRange, SizeWatch
from headgate.crawling.progress import Progress
from headgate.model.site import Site
from headgate.model.units import Bytes

PAGE = 10_000


def unknown() -> SizeWatch:
    return SizeWatch(forecast(Site("site")))


def told(bytes_: float) -> SizeWatch:
    return SizeWatch(forecast(Site("site", expect=Bytes(bytes_))))


def factor(size: SizeRange, true: float) -> float:
    return max(size.likely / true, true / size.likely)


def wholes(links: Links, watch: SizeWatch, page: int = PAGE) -> list[SizeRange]:
    """After each page, what is thought of the whole."""
    found = []
    for report in crawled(links, lambda _: page):
        watch.observe(report)
        found.append(watch.whole)
    return found


def test_before_the_first_page_the_forecast_stands() -> None:
    left = told(1e6).observe(Progress("site", to_do=1))
    assert left.likely == pytest.approx(1e6)
    assert unknown().observe(Progress("site", to_do=1)).vague


def test_robots_txt_does_not_contradict_what_was_foretold() -> None:
    watch = told(1e6)
    watch.observe(Progress("site", fetches=2, wire_bytes=400, to_do=1))
    for report in crawled(star(100), lambda _: PAGE):
        assert report.arrived_bytes + watch.observe(report).likely == pytest.approx(1e6, rel=0.05)
        if report.fetches == 20:
            break


@pytest.mark.parametrize("left", [1.0, 2.5, 20.0])
def test_a_forecast_that_is_all_but_used_up_has_a_finite_range(left: float) -> None:
    """Before any page has come: a large sitemap may take what was foretold."""
    watch = told(1e6)
    size = watch.observe(Progress("s", wire_bytes=int(1e6 - left), to_do=1))
    assert 0 < size.low <= size.likely <= size.high < 1e300


def test_a_star_is_known_after_a_few_pages() -> None:
    """The first look of 500 pages was wrong fiftyfold."""
    found = wholes(star(500), unknown())
    assert factor(found[5], 500 * PAGE) < 1.4
    assert factor(found[50], 500 * PAGE) < 1.15
    assert found[5].low < 500 * PAGE < found[5].high


def test_a_chain_may_go_on_as_long_as_it_has() -> None:
    """One URL is to do at any time, and still it is never thought to be the last."""
    found = wholes(chain(300), unknown())
    for pages in (20, 50, 100, 150):
        left = found[pages - 1].likely - pages * PAGE
        assert pages * PAGE / 2 < left < 2 * pages * PAGE
        assert found[pages - 1].high > 2 * pages * PAGE


def test_a_deep_tree_is_told_when_its_last_level_is_in_sight() -> None:
    pages = 3**7 // 2
    found = wholes(tree(pages, 3), unknown())
    for early in (pages // 20, pages // 10):  # the URLs known by then are a seventh, and a third
        assert factor(found[early], pages * PAGE) < 3
        assert found[early].low < pages * PAGE < found[early].high
    assert factor(found[pages // 4], pages * PAGE) < 2
    assert factor(found[pages // 2], pages * PAGE) < 1.2


@pytest.mark.parametrize("wrong", [0.25, 4.0])
def test_a_users_word_stands_until_the_crawl_contradicts_it(wrong: float) -> None:
    true = 400 * PAGE
    assert factor(wholes(tree(400, 3), told(true * wrong))[0], true * wrong) < 1.1
    found = wholes(star(400), told(true * wrong))
    assert factor(found[100], true) < 1.1


def test_a_users_word_that_holds_is_not_moved() -> None:
    true = 400 * PAGE
    for size in wholes(tree(400, 3), told(true)):
        assert factor(size, true) < 1.2


REAL = 50_902_704
"""Bytes of Python's documentation."""


def real_wholes(watch: SizeWatch) -> list[SizeRange]:
    found = []
    for report in python_documentation():
        watch.observe(report)
        found.append(watch.whole)
    return found


def test_a_true_word_is_kept_on_a_real_site_that_looks_far_too_small() -> None:
    """Given up for good at the first look that contradicted it, it was not heard again."""
    alone, both = real_wholes(unknown()), real_wholes(told(REAL))
    assert min(size.likely for size in alone[:20]) < REAL / 20
    kept = [factor(size, REAL) < 1.1 for size in both]
    assert sum(kept) > 0.99 * len(kept)


@pytest.mark.parametrize("wrong", [0.25, 4.0])
def test_a_word_wrong_by_four_is_left_on_a_real_site(wrong: float) -> None:
    found = real_wholes(told(REAL * wrong))
    assert all(factor(size, REAL) < 1.25 for size in found[len(found) // 4 :])


def test_a_word_contradicted_once_is_heard_again_when_the_crawl_bears_it_out() -> None:
    """It looks like a site of 41 pages; the 31st leads to all others."""
    true = 400 * PAGE
    late = Progress("site", to_do=1)
    late.growth.found(0, 1)
    watch = told(true)
    looks = []
    for page in range(300):
        new = {0: 40, 30: 359}.get(page, 0)
        depth = min(page, 1) + (page > 40)
        late.growth.found(depth + 1, new)
        late.growth.settle(depth, new)
        late.growth.came(depth, PAGE)
        late.fetches += 1
        late.wire_bytes += PAGE
        late.to_do += new - 1
        watch.observe(late)
        looks.append(watch.whole)
    assert min(size.likely for size in looks) < true / 2
    assert all(factor(size, true) < 1.05 for size in looks[31:])


def test_pages_of_each_depth_are_as_large_as_those_of_their_depth() -> None:
    """Large indexes first, then many small pages: some of them show it. By one mean of all, even of
    later ones more, it was thought to be half as large again."""
    small, large = 2_000, 200_000

    def links(page: int) -> range:
        if page == 0:
            return range(1, 21)
        return range(21 + 30 * (page - 1), 21 + 30 * page) if page <= 20 else range(0)

    true = 21 * large + 600 * small
    found = []
    watch = unknown()
    for report in crawled(links, lambda page: large if page <= 20 else small):
        watch.observe(report)
        found.append(watch.whole)
    assert factor(found[100], true) < 1.15


def test_large_pages_of_a_depth_foretell_others_there() -> None:
    """One page in ten is large: of the pages to come, too. By the geometric mean, which they hardly
    move, the site was thought to be two thirds of what it was."""
    sizes = [100_000 if page % 10 == 5 else 5_000 for page in range(400)]
    watch = unknown()
    for report in crawled(star(400), sizes.__getitem__):
        watch.observe(report)
        if report.fetches == 100:
            break
    assert factor(watch.whole, sum(sizes)) < 1.2


def test_large_indexes_foretell_no_large_pages_below_them() -> None:
    """Two indexes of 1 MB among small pages, and a depth that nobody has looked at: foretold by
    their arithmetic mean, too, the site was thought to be almost twice as large."""

    def links(page: int) -> range:
        if page == 0:
            return range(1, 41)
        return range(41 + 10 * (page - 1), 41 + 10 * page) if page <= 40 else range(0)

    sizes = [1_000_000 if page in (3, 30) else 5_000 for page in range(441)]
    watch = unknown()
    for report in crawled(links, sizes.__getitem__):
        watch.observe(report)
        if report.fetches == 41:
            break
    assert factor(watch.whole, sum(sizes)) < 1.4


def test_something_is_left_while_urls_are_to_do() -> None:
    watch = told(50e3)
    *_, report = crawled(star(9), lambda _: PAGE)
    report.to_do = 1
    assert watch.observe(report).likely > 1_000


def test_a_large_page_under_way_counts_by_what_it_announced() -> None:
    """A last page of 1.7 MB counted as one of 10 KB: the site ended 7 s late."""
    *_, report = crawled(star(100))
    report.to_do = 1
    report.under_way_bytes = 100_000
    report.announced_bytes, report.announced_fetches = 1_600_000, 1
    left = unknown().observe(report)
    assert left.low >= 1_600_000
    assert left.likely == pytest.approx(1_600_000, rel=0.01)
    assert left.high == pytest.approx(1_600_000, rel=0.1)


def test_the_range_narrows_as_the_crawl_goes_on() -> None:
    found = wholes(star(400), unknown())
    widths = [found[k].high / found[k].low for k in (1, 40, 120, 240, 360)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 1.3


def test_earlier_visits_and_the_crawl_are_weighed() -> None:
    """Three visits said 4 MB, the crawl by itself would say less: the truth is between."""
    past = Forecast(4e6, Source.HISTORY, bytes_range=(3.6e6, 4.4e6))
    reports = crawled(star(300))
    for _ in range(5):
        report = next(reports)
    alone = unknown()
    alone.observe(report)
    both = SizeWatch(past)
    both.observe(report)
    assert alone.whole.likely < both.whole.likely <= 4.05e6
    assert both.whole.high - both.whole.low < alone.whole.high - alone.whole.low


@given(
    to_do=st.integers(0, 10**6),
    fetches=st.integers(0, 10**6),
    mean=st.integers(0, 10**7),
    under_way=st.integers(0, 10**8),
    announced=st.integers(0, 10**8),
    told_bytes=st.one_of(st.none(), st.floats(1, 1e13)),
    levels=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=6),
)
def test_whatever_is_reported_the_answer_is_a_range(
    to_do: int,
    fetches: int,
    mean: int,
    under_way: int,
    announced: int,
    told_bytes: float | None,
    levels: list[tuple[int, int]],
) -> None:
    report = Progress(
        "site", fetches=fetches, wire_bytes=fetches * mean, to_do=to_do,
        under_way_bytes=under_way, announced_bytes=announced, announced_fetches=min(to_do, 1),
    )  # fmt: skip
    for depth, (new, brought) in enumerate(levels):
        report.growth.found(depth, new + 1)
        report.growth.settle(depth, brought)
        report.growth.came(depth, mean)
    watch = unknown() if told_bytes is None else told(told_bytes)
    left = watch.observe(report)
    assert 1.0 <= left.low <= left.likely <= left.high < float("inf")
    assert left.low >= announced
    assert watch.whole.likely >= report.arrived_bytes


@pytest.mark.parametrize("links", [star(400), tree(400, 7)])
def test_half_of_the_pages_is_about_half_of_the_way(links: Links) -> None:
    """At 53 % of the pages 19 % were shown."""
    found = wholes(links, unknown())
    assert 0.45 < 212 * PAGE / found[211].likely < 0.6
