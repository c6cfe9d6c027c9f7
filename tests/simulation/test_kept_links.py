"""Links from one kept site to another reach the site that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace
from tests.simulation.kept_web import (
    BEGIN,
    HOUR,
    ChangingPages,
    keep_job,
    keep_virtually,
    site,
)

from headgate.model.fetch import FetchRequest
from headgate.model.keeping import Keeping
from headgate.model.site import Site
from headgate.model.units import Seconds
from headgate.reading.links import links_in
from headgate.storage.collection import Collection
from headgate.storage.memory.site import SiteMemory
from headgate.testing.simulated_web import Answer


@dataclass(slots=True)
class LinkedPages(ChangingPages):
    """Pages of the first host link to pages that nothing else leads to."""

    outside: tuple[str, ...] = ()
    from_moment: float = BEGIN
    """They do from then on."""

    def answer(self, request: FetchRequest, now: float) -> Answer:
        if urlsplit(request.url).path.startswith("/hidden"):
            self.asked[request.url].append(now)
            return Answer(200, (("content-type", "text/html"),), b"<p>found at last</p>")
        answer = ChangingPages.answer(self, request, now)
        here = urlsplit(request.url).netloc == self.hosts[0]
        if answer.status == 200 and here and now >= self.from_moment:
            links = "".join(f'<a href="{url}">{url}</a>' for url in self.outside)
            return Answer(200, answer.headers, answer.body + links.encode())
        return answer


def test_a_link_found_elsewhere_is_a_page_of_its_site(tmp_path: Path) -> None:
    """Once only, however many pages have it, and the same after a restart."""
    hidden, nowhere = "http://b.example/hidden", "http://c.example/hidden"
    web = LinkedPages(
        ["a.example", "b.example"], pages=3, rates=(96.0,),
        outside=(hidden, nowhere), from_moment=BEGIN + 1 * HOUR,
    )  # fmt: skip
    sites = [site(host, min_interval=Seconds(300.0)) for host in web.hosts]
    keep_virtually(keep_job(tmp_path, sites, 0.2, tend_seconds=60.0), web)
    assert hidden in web.asked, "and asked for soon"
    told = min(at for at in web.asked["http://a.example/"] if at > BEGIN + HOUR)
    assert web.asked[hidden][0] < told + 0.5 * HOUR
    assert nowhere not in web.asked, "it belongs to no site that is kept"
    with SiteMemory(Collection(tmp_path).memory("b.example"), "b.example") as memory:
        page = memory.find(hidden)
        assert page is not None
        assert page.status == 200
    assert not list((tmp_path / "links").iterdir())
    looks = len(web.asked[hidden])
    keep_virtually(keep_job(tmp_path, sites, 0.002), web, begin=BEGIN + 0.2 * 86_400 + 60)
    assert len(web.asked[hidden]) <= looks + 1


def test_a_folder_of_a_host_is_a_site_with_links_of_its_own(tmp_path: Path) -> None:
    """Two sets of folders of one host: what one finds of the other's goes there."""
    web = LinkedPages(["a.example"], pages=3, rates=(0.1,), outside=("http://a.example/hidden/x",))
    pages = Site("pages", ("http://a.example/",), exclude=("/hidden/",), keeping=Keeping())
    hidden = Site("hidden", ("http://a.example/hidden/",), include=("/hidden/",), keeping=Keeping())
    keep_virtually(keep_job(tmp_path, [pages, hidden], 0.1), web)
    with SiteMemory(Collection(tmp_path).memory("hidden"), "hidden") as memory:
        assert memory.find("http://a.example/hidden/x") is not None
    with SiteMemory(Collection(tmp_path).memory("pages"), "pages") as memory:
        assert memory.find("http://a.example/hidden/x") is None


HIDDEN = "http://a.example/hidden/x"


def keep_with_older_rules(
    out: Path, web: LinkedPages, days: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an older version did that knew of no rules and read links to hidden pages wrongly."""

    def wrong(*args: Any) -> Any:
        page = links_in(*args)
        return replace(page, urls=[url for url in page.urls if url != HIDDEN])

    with monkeypatch.context() as older:
        older.setattr("headgate.crawling.page_reader.links_in", wrong)
        for module in ("storage.warc.archive", "storage.memory.page", "features.keep.kept_memory"):
            older.setattr(f"headgate.{module}.LINK_RULES", 0)
        keep_virtually(keep_job(out, [site("a.example")], days), web)
    assert HIDDEN not in web.asked


@pytest.mark.parametrize("archived", [True, False])
def test_links_that_were_read_wrongly_are_read_again_from_pages_that_did_not_change(
    tmp_path: Path, archived: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as the pages may be asked for again, once; and whole where the archive is gone."""
    web = LinkedPages(["a.example"], pages=4, rates=(0.0,), outside=(HIDDEN,))
    keep_with_older_rules(tmp_path, web, 0.2, monkeypatch)
    before = {url: list(times) for url, times in web.asked.items()}
    if not archived:
        for file in tmp_path.glob("runs/*/warc/*"):
            file.unlink()
    begin = max(map(max, before.values())) + 600
    keep_virtually(keep_job(tmp_path, [site("a.example")], 0.2), web, begin=begin)
    (found,) = web.asked[HIDDEN]
    for url, times in before.items():
        (again,) = web.asked[url][len(times) :]
        assert times[-1] + HOUR <= again < times[-1] + HOUR + 900
        assert again < found + 900
    with SiteMemory(Collection(tmp_path).memory("a.example"), "a.example") as memory:
        assert {page.url for page in memory} == {*before, HIDDEN}
        assert not any(page.links_unknown for page in memory)
    assert all(len(sent) == 1 for sent in web.sent.values()), "nothing changed"


def test_pages_whose_links_are_known_wait_for_their_turn(tmp_path: Path) -> None:
    """The control: after a day, for the same pages."""
    web = LinkedPages(["a.example"], pages=4, rates=(0.0,), outside=(HIDDEN,))
    keep_virtually(keep_job(tmp_path, [site("a.example")], 0.2), web)
    assert HIDDEN in web.asked
    before = {url: list(times) for url, times in web.asked.items()}
    begin = max(map(max, before.values())) + 600
    keep_virtually(keep_job(tmp_path, [site("a.example")], 0.2), web, begin=begin)
    early = {
        url: [at for at in web.asked[url] if at < times[-1] + 2 * HOUR]
        for url, times in before.items()
    }
    assert early == before
