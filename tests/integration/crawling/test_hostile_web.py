"""One crawl over all misbehaviour: it ends by itself, keeps what is good and names the rest."""

from __future__ import annotations

from pathlib import Path

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from .crawled import Crawled, crawl_cases
from .hostile_web import CASES


def test_the_good_is_kept_and_the_bad_is_named(tmp_path: Path) -> None:
    crawled = crawl_cases(tmp_path / "data", CASES)
    came = {name: _ending(crawled, name) for name in CASES}
    assert came == {
        name: ("done", dict(case.errors), sorted(case.pages), len(case.pages), bool(case.given_up))
        for name, case in CASES.items()
    }
    for name, case in CASES.items():
        assert case.given_up in " ".join(crawled.sites[name]["given_up"].values())
    assert crawled.peak_bytes < 500e6
    assert _archived(crawled.out) > 3 * len(CASES)


def _ending(crawled: Crawled, name: str) -> tuple[str, dict[str, int], list[str], int, bool]:
    site = crawled.sites[name]
    pages = sorted(crawled.pages[name])
    return site["state"], site["errors"], pages, site["pages"], bool(site["given_up"])


def _archived(out: Path) -> int:
    """Records of the archive, all of them whole."""
    records = 0
    for path in out.glob("runs/*/warc/*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                records += 1
    return records
