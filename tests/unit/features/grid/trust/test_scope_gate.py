"""Others are sent only to where the manager itself says that a site is."""

from __future__ import annotations

import pytest

from headgate.features.grid.trust.scope_gate import SiteBounds
from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.page import Role
from headgate.model.site import Requisites, Site
from headgate.storage.page import PageRow

SITE = Site("docs", seeds=("http://docs.test/",))


def moved(url: str, to: str) -> PageRow:
    return PageRow(
        url, Role.PAGE, 301, "", 0, payload_bytes=0, wire_bytes=0, first_byte_seconds=0.0,
        seconds=0.0, fetched_at=1e9, digest=b"", location=to,
    )  # fmt: skip


@pytest.mark.parametrize(
    "url", ["http://victim.test/", "file:///etc/passwd", "http://192.168.0.1/", "ftp://docs.test/"]
)
def test_nobody_is_sent_outside_of_the_site(url: str) -> None:
    bounds = SiteBounds(SITE)
    for depth in (0, 3):
        entry = JournalEntry(UrlOutcome.FOUND, found=["http://docs.test/a", url], depth=depth)
        assert list(bounds.within(entry).found) == ["http://docs.test/a"]


def test_a_host_joins_by_a_redirect_of_a_seed_and_by_nothing_else() -> None:
    bounds = SiteBounds(SITE)
    bounds.learn([moved("http://elsewhere.test/", "http://victim.test/")])
    assert not bounds.has("http://victim.test/x")
    bounds.learn([moved("http://docs.test/", "https://new.test/home")])
    assert bounds.has("https://new.test/x")
    bounds.learn(
        [moved("https://new.test/home", "/hop"), moved("https://new.test/hop", "file:///")]
    )
    assert not bounds.has("file:///")


def test_include_exclude_and_requisites_are_the_site_s() -> None:
    wide = Site("wide", seeds=SITE.seeds, include=("://other",), exclude=("/private/",))
    bounds = SiteBounds(wide)
    assert bounds.has("http://other.test/a")
    assert not bounds.has("http://other.test/private/a")
    assert not bounds.has("http://docs.test/private/a")
    assert not bounds.has("http://victim.test/a.png")
    embedded = Site("embedded", seeds=SITE.seeds, requisites=Requisites.PAGE)
    assert SiteBounds(embedded).has("http://cdn.test/a.png")
    assert not SiteBounds(embedded).starts("http://cdn.test/a.png")
