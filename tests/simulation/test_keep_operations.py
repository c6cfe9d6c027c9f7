"""What a user does to a keeper that runs, and what sites do to it: in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace
from tests.simulation.kept_web import (
    BEGIN,
    DAY,
    HOUR,
    ChangingPages,
    Onlooker,
    keep_job,
    keep_virtually,
    site,
)

from headgate.features.keep.user_commands import Wish, WishKind, leave_wish
from headgate.model.errors import UserMistake
from headgate.model.fetch import FetchRequest
from headgate.model.units import Seconds
from headgate.site_file.parsing import SiteFile
from headgate.storage.collection import Collection
from headgate.storage.memory.site import SiteMemory
from headgate.testing.simulated_web import Answer
from headgate.testing.virtual_time import VirtualClock

HOST = "a.example"
MINUTE = 60.0
OFTEN = site(HOST, min_interval=Seconds(10 * MINUTE), fresh_within=Seconds(30 * MINUTE))


def looks(web: ChangingPages, host: str = HOST) -> list[float]:
    return sorted(at for url, ats in web.asked.items() if host in url for at in ats)


def test_a_pause_begins_at_once_and_ends_by_itself(tmp_path: Path) -> None:
    web = ChangingPages([HOST], pages=2)
    paused, until = BEGIN + 2 * HOUR, BEGIN + 4 * HOUR

    async def pause(clock: VirtualClock, _: Onlooker) -> None:
        await asyncio.sleep(paused - clock.wall())
        leave_wish(tmp_path, Wish(WishKind.PAUSE, HOST, until))

    job = keep_job(tmp_path, [OFTEN], 0.3, tend_seconds=10.0)
    _, onlooker, _ = keep_virtually(job, web, meanwhile=pause)
    told = next(state for state in onlooker.states if state.paused)
    assert [(one.site, one.until) for one in told.paused] == [(HOST, until)]
    assert told.now < paused + MINUTE, "whoever pauses a site wants to see it"
    assert not onlooker.states[-1].paused
    found = looks(web)
    assert not [at for at in found if paused + MINUTE < at < until]
    assert [at for at in found if at < paused]
    assert min(at for at in found if at > until) < until + 5 * MINUTE


def test_a_pause_outlives_a_restart_and_zero_ends_it(tmp_path: Path) -> None:
    web = ChangingPages([HOST], pages=2)
    keep_virtually(keep_job(tmp_path, [OFTEN], 0.05, tend_seconds=10.0), web)
    leave_wish(tmp_path, Wish(WishKind.PAUSE, HOST, BEGIN + 9 * DAY))
    before = len(looks(web))
    keep_virtually(keep_job(tmp_path, [OFTEN], 0.05), web, begin=BEGIN + 0.5 * DAY)
    keep_virtually(keep_job(tmp_path, [OFTEN], 0.05), web, begin=BEGIN + 0.7 * DAY)
    assert len(looks(web)) == before
    leave_wish(tmp_path, Wish(WishKind.PAUSE, HOST, 0.0))
    keep_virtually(keep_job(tmp_path, [OFTEN], 0.05), web, begin=BEGIN + 0.9 * DAY)
    assert len(looks(web)) > before


def test_a_pause_ends_a_visit_that_is_under_way(tmp_path: Path) -> None:
    """Each page takes a minute; another site goes on."""
    web = ChangingPages([HOST, "b.example"], pages=60)
    slow, other = (replace(site(host), delay=Seconds(MINUTE)) for host in web.hosts)
    paused, until = BEGIN + 20 * MINUTE, BEGIN + 3 * HOUR

    async def pause(clock: VirtualClock, _: Onlooker) -> None:
        await asyncio.sleep(paused - clock.wall())
        leave_wish(tmp_path, Wish(WishKind.PAUSE, HOST, until))

    job = keep_job(tmp_path, [slow, other], 0.3, tend_seconds=10.0)
    _, onlooker, _ = keep_virtually(job, web, meanwhile=pause)
    found = looks(web)
    assert [at for at in found if at < paused]
    assert not [at for at in found if paused + 2 * MINUTE < at < until]
    assert len(set(found)) == len(found)
    assert len({url for url in web.asked if HOST in url}) == 60, "and then it goes on"
    assert len([at for at in looks(web, "b.example") if paused < at < until]) >= 39
    assert any(state.paused for state in onlooker.states)


@pytest.mark.parametrize("by_seconds", [-2 * MINUTE, -30 * DAY])
def test_a_pause_lasts_as_long_whatever_the_clock_is_set_to(
    tmp_path: Path, by_seconds: float
) -> None:
    web = ChangingPages([HOST], pages=2)
    counted: list[int] = []

    async def pause_and_set(clock: VirtualClock, _: Onlooker) -> None:
        await asyncio.sleep(0.5 * DAY)
        leave_wish(tmp_path, Wish(WishKind.PAUSE, HOST, clock.wall() + 5 * DAY))
        for days in (0.5, 4.4, 1.0):
            await asyncio.sleep(days * DAY)
            counted.append(len(looks(web)))
            if days < 1:
                clock.set_wall(by_seconds)

    job = keep_job(tmp_path, [OFTEN], 6.5)
    keep_virtually(job, web, meanwhile=pause_and_set)
    before, meanwhile, after = counted
    assert before == meanwhile < after


def test_a_visit_that_is_wanted_does_not_end_a_pause(tmp_path: Path) -> None:
    web = ChangingPages([HOST], pages=2)
    wanted, until = BEGIN + 2 * HOUR, BEGIN + 6 * HOUR

    async def pause_and_want(clock: VirtualClock, _: Onlooker) -> None:
        await asyncio.sleep(HOUR)
        leave_wish(tmp_path, Wish(WishKind.PAUSE, HOST, until))
        await asyncio.sleep(wanted - clock.wall())
        leave_wish(tmp_path, Wish(WishKind.VISIT, HOST))

    job = keep_job(tmp_path, [OFTEN], 0.3, tend_seconds=10.0)
    keep_virtually(job, web, meanwhile=pause_and_want)
    after = [at for at in looks(web) if BEGIN + HOUR + MINUTE < at < until]
    assert len(after) == 2
    assert max(after) < wanted + MINUTE


def test_a_visit_that_is_wanted_looks_at_every_page_now(tmp_path: Path) -> None:
    web = ChangingPages([HOST], pages=5, rates=(0.01,))
    wanted = BEGIN + 3 * HOUR

    async def want(clock: VirtualClock, _: Onlooker) -> None:
        await asyncio.sleep(wanted - clock.wall())
        leave_wish(tmp_path, Wish(WishKind.VISIT, HOST))
        leave_wish(tmp_path, Wish(WishKind.VISIT, "nobody"))

    job = keep_job(tmp_path, [site(HOST)], 0.2, tend_seconds=10.0)
    _, onlooker, _ = keep_virtually(job, web, meanwhile=want)
    assert len([at for at in looks(web) if wanted <= at < wanted + MINUTE]) == 5
    assert "nobody: no such site is kept" in onlooker.words


def test_a_memory_made_again_knows_the_pages_and_was_not_damaged(tmp_path: Path) -> None:
    web = ChangingPages([HOST], pages=4)

    async def rebuild(_: VirtualClock, __: Onlooker) -> None:
        await asyncio.sleep(3 * HOUR)
        leave_wish(tmp_path, Wish(WishKind.REBUILD, HOST))

    job = keep_job(tmp_path, [OFTEN], 0.3, tend_seconds=10.0)
    status, onlooker, _ = keep_virtually(job, web, meanwhile=rebuild)
    remark = next(word for word in onlooker.words if "made again" in word)
    assert remark == f"what is known of {HOST} ({HOST}.pages) was made again from its runs: 4 pages"
    assert status.pages == 4
    assert max(looks(web)) > BEGIN + 6 * HOUR


def test_a_site_that_is_removed_while_it_is_visited_ends_with_what_it_has(tmp_path: Path) -> None:
    """Each page takes a minute, so that the first visit takes an hour."""
    web = ChangingPages([HOST, "b.example"], pages=60)
    slow = replace(site(HOST), delay=Seconds(MINUTE))
    other = site("b.example")
    job = keep_job(tmp_path, [slow, other], 0.2, tend_seconds=10.0)
    removed: list[bool] = []

    async def remove(_: VirtualClock, onlooker: Onlooker) -> None:
        await asyncio.sleep(20 * MINUTE)
        assert onlooker.keeper is not None
        removed.append(True)
        onlooker.keeper.reread_site_file()

    def reread(_: bool) -> SiteFile | None:
        return SiteFile(job.budget, (other,)) if removed and removed.pop() else None

    status, onlooker, _ = keep_virtually(replace(job, reread=reread), web, meanwhile=remove)
    assert any("read again: 1 sites" in word for word in onlooker.words)
    assert 10 <= len(looks(web)) < 40
    assert max(looks(web)) < BEGIN + 22 * MINUTE
    with SiteMemory(Collection(tmp_path).memory(HOST), HOST) as memory:
        assert sum(page.status == 200 for page in memory) == len(looks(web)), "nothing is lost"
    assert (status.sites, status.troubles) == (1, ())


def test_a_file_is_read_again_as_soon_as_it_is_asked_for(tmp_path: Path) -> None:
    """As SIGHUP does; by itself it is looked at when something else is to be done."""
    web = ChangingPages(["a.example", "b.example"])
    sites = [site(host) for host in web.hosts]
    job = keep_job(tmp_path, sites[:1], 1.0, tend_seconds=4 * HOUR)
    told: list[float] = []
    asked_for: list[float] = []

    async def ask(clock: VirtualClock, onlooker: Onlooker) -> None:
        def reread(_: bool) -> SiteFile | None:
            if not asked_for or told:
                return None
            told.append(clock.wall())
            return SiteFile(job.budget, tuple(sites))

        rereading.append(reread)
        await asyncio.sleep(1.5 * HOUR)
        asked_for.append(clock.wall())
        await asyncio.sleep(MINUTE)
        assert not told, "nobody has looked"
        assert onlooker.keeper is not None
        onlooker.keeper.reread_site_file()

    rereading: list[Callable[[bool], SiteFile | None]] = []
    job = replace(job, reread=lambda told: rereading[0](told) if rereading else None)
    keep_virtually(job, web, meanwhile=ask)
    assert told == [asked_for[0] + MINUTE]
    assert looks(web, "b.example"), "and the new site was taken up"


def test_two_keepers_never_write_to_one_collection(tmp_path: Path) -> None:
    web = ChangingPages([HOST], pages=2)
    job = keep_job(tmp_path, [site(HOST)], 0.1)
    with Collection(tmp_path).lock(), pytest.raises(UserMistake, match="in use by another"):
        keep_virtually(job, web)
    assert not web.asked


@dataclass(slots=True)
class OddPages(ChangingPages):
    """Pages with manners of their own."""

    forbidden_from: float = float("inf")
    lying_dates: bool = False
    counter: bool = False
    """Another text at every look."""
    new_tags: bool = False
    """Another ETag at every look."""
    many_from: float = float("inf")
    """Then every page links to very many that nobody knew."""

    def answer(self, request: FetchRequest, now: float) -> Answer:
        path = urlsplit(request.url).path
        if path == "/robots.txt":
            body = b"User-agent: *\nDisallow: /\n" if now >= self.forbidden_from else b""
            if self.lying_dates:
                body += f"Sitemap: http://{HOST}/sitemap.xml\n".encode()
            return Answer(200, (("content-type", "text/plain"),), body)
        if path == "/sitemap.xml" and self.lying_dates:
            return Answer(200, (("content-type", "application/xml"),), self._sitemap(now))
        if path.startswith("/new/"):
            self.asked[request.url].append(now)
            return Answer(200, (("content-type", "text/html"),), b"<p>new</p>" + b"y" * 3000)
        answer = ChangingPages.answer(self, request, now)
        if answer.status != 200 or path.endswith(".xml"):
            return answer
        if self.new_tags:
            return Answer(200, (answer.headers[0], ("etag", f'"{now}"')), answer.body)
        more = f"<p>seen by {len(self.asked[request.url])} strangers</p>" if self.counter else ""
        if now >= self.many_from:
            more += "".join(f'<a href="/new/{path.strip("/p")}/{n}">n</a>' for n in range(2000))
        return Answer(200, answer.headers, answer.body + more.encode())

    def _sitemap(self, now: float) -> bytes:
        from datetime import UTC, datetime

        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        pages = "".join(
            f"<url><loc>http://{HOST}/p{n}</loc><lastmod>{stamp}</lastmod></url>"
            for n in range(1, self.pages)
        )
        return f"<urlset>{pages}</urlset>".encode()


@pytest.mark.parametrize(
    ("forbidden", "words"),
    [
        (False, f"no page of it could be fetched: http://{HOST}/ answered 404"),
        (True, f"no page of it could be fetched: robots.txt forbids http://{HOST}/"),
    ],
)
def test_a_site_without_any_page_is_a_trouble(tmp_path: Path, forbidden: bool, words: str) -> None:
    web = OddPages([HOST], pages=0, forbidden_from=BEGIN if forbidden else float("inf"))
    status, _, _ = keep_virtually(keep_job(tmp_path, [site(HOST)], 0.05), web)
    (trouble,) = status.troubles
    assert trouble.what == words
    assert "seeds" in trouble.remedy
    assert status.fresh is None, "there is no copy that could be out of date"


def test_pages_that_robots_txt_forbids_now_are_kept_and_not_asked(tmp_path: Path) -> None:
    """robots.txt is good for a day; the site is asked every half an hour."""
    web = OddPages([HOST], pages=3, forbidden_from=BEGIN + 2 * HOUR)
    often = site(HOST, min_interval=Seconds(HOUR), fresh_within=Seconds(3 * HOUR))
    status, _, _ = keep_virtually(keep_job(tmp_path, [often], 2.0), web)
    assert max(looks(web)) < BEGIN + 28 * HOUR
    (trouble,) = status.troubles
    assert trouble.what == f"robots.txt now forbids 3 pages, http://{HOST}/ for one"
    assert trouble.site == HOST
    assert "robots.txt is read again every day" in trouble.remedy
    with SiteMemory(Collection(tmp_path).memory(HOST), HOST) as memory:
        assert len([page for page in memory if page.digest]) == 3


def test_a_robots_txt_that_allows_again_ends_the_trouble(tmp_path: Path) -> None:
    web = OddPages([HOST], pages=3, forbidden_from=BEGIN + 2 * HOUR)
    often = site(HOST, fresh_within=Seconds(3 * HOUR))
    status, _, _ = keep_virtually(keep_job(tmp_path, [often], 2.0), web)
    assert status.troubles
    web.forbidden_from = float("inf")
    job = keep_job(tmp_path, [often], 3.0)
    status, _, _ = keep_virtually(job, web, begin=BEGIN + 2.1 * DAY)
    assert not status.troubles
    assert max(looks(web)) > BEGIN + 4 * DAY


def test_dates_that_lie_are_trusted_less_and_change_nothing(tmp_path: Path) -> None:
    web = OddPages([HOST], pages=4, rates=(0.0,), lying_dates=True)
    often = site(HOST, min_interval=Seconds(20 * MINUTE))
    keep_virtually(keep_job(tmp_path, [often], 3.0), web)
    with SiteMemory(Collection(tmp_path).memory(HOST), HOST) as memory:
        summary = memory.summary
        assert all(page.changes == 0 for page in memory)
    assert summary.dates_wrong > summary.dates_right


def test_another_etag_is_no_change(tmp_path: Path) -> None:
    """The content decides; what such looks cost is learned."""
    web = OddPages([HOST], pages=4, rates=(0.0,), new_tags=True)
    keep_virtually(keep_job(tmp_path, [site(HOST)], 4.0), web)
    with SiteMemory(Collection(tmp_path).memory(HOST), HOST) as memory:
        assert {page.changes for page in memory} == {0}
        assert not any(page.heeds_conditions for page in memory)


@pytest.mark.parametrize("ignored", [True, False])
def test_a_page_with_another_text_at_every_look_flaps_unless_that_is_ignored(
    tmp_path: Path, ignored: bool
) -> None:
    """It counts as one that changes once a day then, or it would be asked all the time."""
    web = OddPages([HOST], pages=3, rates=(0.0,), counter=True, heeds=False)
    rules = ("seen by \\d+ strangers",) if ignored else ()
    often = site(HOST, min_interval=Seconds(MINUTE), ignore=rules)
    status, _, _ = keep_virtually(keep_job(tmp_path, [often], 0.2, tend_seconds=60.0), web)
    with SiteMemory(Collection(tmp_path).memory(HOST), HOST) as memory:
        assert all((page.changes == 0) is ignored for page in memory)
    told = [trouble for trouble in status.troubles if "never the same" in trouble.what]
    assert not told if ignored else f"http://{HOST}/" in told[0].what
    assert ignored or "ignore" in told[0].remedy
    counts = [len(at) for at in web.asked.values()]
    assert max(counts) < 120, "far from every minute of five hours"


def test_very_many_new_pages_do_not_starve_the_known_ones(tmp_path: Path) -> None:
    """Ten thousand URLs more: a visit gives half of its bytes to new pages, and promises hold."""
    web = OddPages([HOST], pages=5, many_from=BEGIN + 1 * HOUR)
    hourly = site(HOST, min_interval=Seconds(20 * MINUTE), fresh_within=Seconds(HOUR))
    job = keep_job(tmp_path, [hourly], 0.2, rate=2000.0, tend_seconds=30.0)
    keep_virtually(job, web)
    new = [url for url in web.asked if "/new/" in url]
    assert new, "some of them are fetched"
    for page in ("/", "/p1", "/p2"):
        moments = [at for at in web.asked[f"http://{HOST}{page}"] if at > BEGIN + HOUR]
        gaps = [after - before for before, after in pairwise(moments)]
        assert max(gaps) < 1.5 * HOUR
