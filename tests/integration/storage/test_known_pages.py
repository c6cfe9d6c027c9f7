from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from tests.unit.storage.warc.making import make_body, make_url

from headgate.storage.collection import Collection
from headgate.storage.memory.known_pages import KnownPages, LentPages, VisitedPages
from headgate.storage.memory.merging import merge
from headgate.storage.memory.page import PageLook, Sighting
from headgate.storage.memory.site import SiteMemory

from .crawled import SHARED_BODY, crawl_again, crawl_once


@contextmanager
def known_of(folder: Path, site: str = "docs") -> Iterator[KnownPages]:
    with closing(KnownPages(Collection(folder), site)) as known:
        yield known


def urls(batches: Iterator[tuple[int, Sequence[str]]]) -> dict[str, int]:
    return {url: depth for depth, batch in batches for url in batch}


def test_a_new_collection_knows_nothing(tmp_path: Path) -> None:
    with known_of(tmp_path) as known:
        assert known.find(make_url(1)) is None
        assert not known.asked(make_url(1))
        assert urls(known.pages()) == urls(known.left_to_do()) == {}


def test_every_page_a_run_met_is_known_and_nothing_else_is(tmp_path: Path) -> None:
    """The failure is a page to come back to; robots.txt is none."""
    crawl_once(tmp_path)
    with known_of(tmp_path) as known:
        met = {make_url(0): 1, **{make_url(k): 1 for k in range(5)}}
        assert urls(known.pages()) == met | {make_url(k): 2 for k in range(5, 10)}
        assert urls(known.left_to_do()) == {}
        found = known.find(make_url(5))
        assert found is not None
        assert found.etag == '"v1"'
        assert known.find(make_url(8)) is None, "it was cut short"
        assert known.find(make_url(9)) is None, "it failed"
        assert known.asked(make_url(9))
    with known_of(tmp_path, "other") as known:
        assert urls(known.pages()) == {}


def test_a_run_that_asked_for_little_leaves_the_rest_known(tmp_path: Path) -> None:
    crawl_once(tmp_path)
    with known_of(tmp_path) as known:
        before = set(urls(known.pages()))
    crawl_again(tmp_path)
    with known_of(tmp_path) as known:
        assert set(urls(known.pages())) == before


def test_payloads_are_read_back_also_through_revisits(tmp_path: Path) -> None:
    crawl_once(tmp_path)
    crawl_again(tmp_path)
    bodies = {1: make_body(1), 3: make_body(3), 5: SHARED_BODY, 6: SHARED_BODY, 7: make_body(7)}
    with known_of(tmp_path) as known:
        for number, body in bodies.items():
            earlier = known.find(make_url(number))
            assert earlier is not None
            stored = known.stored(make_url(number), earlier)
            assert stored is not None
            assert (stored.url, stored.payload) == (make_url(number), body)
            assert (stored.header("content-type") or "").startswith("text/html")


def test_an_archive_that_was_moved_away_or_damaged_gives_nothing(tmp_path: Path) -> None:
    run = crawl_once(tmp_path)
    (file,) = run.warc.iterdir()
    with known_of(tmp_path) as known:
        earlier = known.find(make_url(3))
        assert earlier is not None
        data = bytearray(file.read_bytes())
        data[earlier.offset + 300] ^= 1
        file.write_bytes(data)
        assert known.stored(make_url(3), earlier) is None
        file.write_bytes(data[: earlier.offset + 300])
        assert known.stored(make_url(3), earlier) is None
        file.unlink()
        assert known.stored(make_url(3), earlier) is None
    with known_of(tmp_path) as known:
        assert known.find(make_url(3)) is None, "no condition can be made of it"


def test_an_unchanged_page_is_read_in_a_visit_if_its_links_are_unknown(tmp_path: Path) -> None:
    """Page 5 was stored without its links."""
    crawl_once(tmp_path)
    with closing(VisitedPages(Collection(tmp_path), "docs")) as known:
        payloads = {}
        for number in (3, 5):
            earlier = known.find(make_url(number))
            assert earlier is not None
            stored = known.stored(make_url(number), earlier)
            assert stored is not None
            payloads[number] = stored.payload
        assert payloads == {3: b"", 5: SHARED_BODY}


def test_without_the_archive_a_page_whose_links_are_unknown_is_asked_for_whole(
    tmp_path: Path,
) -> None:
    crawl_once(tmp_path)
    with known_of(tmp_path) as here, closing(LentPages(Collection(tmp_path), "docs")) as lent:
        full, lean = here.find(make_url(5)), lent.find(make_url(5))
        assert full is not None
        assert lean is not None
        assert (full.etag, full.last_modified) == ('"v1"', "long ago")
        assert (lean.etag, lean.last_modified, lean.digest) == ("", "", full.digest)
        assert lent.find(make_url(3)) == here.find(make_url(3))


def test_what_was_never_there_is_asked_for_by_whom_links_lead_to_it(tmp_path: Path) -> None:
    """A crawl here follows all links; a node elsewhere does not read those of unchanged pages."""
    path = Collection(tmp_path).memory("docs")
    missed = PageLook(
        1.0, 404, error="", size_bytes=9, etag="", last_modified="", digest=b"", content=b"",
        original_url="", original_at=0.0, file=0, offset=0,
    )  # fmt: skip
    sightings = [Sighting(make_url(1), 1, 1.0, missed), Sighting(make_url(2), 1, 1.0)]
    merge(path, SiteMemory(path, "docs"), "run", lambda _: sightings)
    with known_of(tmp_path) as here, closing(LentPages(Collection(tmp_path), "docs")) as lent:
        assert urls(here.pages()) == {make_url(2): 1}
        assert urls(lent.pages()) == {make_url(1): 1, make_url(2): 1}
