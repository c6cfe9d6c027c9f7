"""A journal from a node: what a crawl writes passes, each lie of form is refused, and a bomb goes
off where it harms nobody."""

from __future__ import annotations

import math
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from headgate.features.grid.trust.journal_check import Brought, JournalChecks, lie_of
from headgate.frontier.events import NEEDED, JournalEntry, UrlOutcome
from headgate.model.fetch import FailureKind, Fetched, FetchFailure
from headgate.model.page import Links, Page, Role
from headgate.model.site import Requisites, Site
from headgate.model.task import Task
from headgate.reading.content_coding import ZstdCompressor, compressed
from headgate.storage.collection import RunFolder
from headgate.storage.journals import framed_log
from headgate.storage.journals.journal import (
    _KIND,
    Commit,
    LinkLines,
    SpoolPlace,
    read_commits,
)
from headgate.storage.journals.spool import SiteSpool

WALL = 1.7e9
SITE = Site("docs", seeds=("http://docs.test/",))
TASK = Task(SITE)
Change = Callable[[Commit], Commit]


def response(url: str, *, status: int = 200, body: bytes = b"x" * 2000, to: str = "") -> Fetched:
    head = f"HTTP/1.1 {status} -\r\n".encode()
    fields: tuple[tuple[str, str], ...] = (("content-length", str(len(body))),)
    fields += (("location", to),) if to else ()
    head += b"".join(f"{name}: {value}\r\n".encode() for name, value in fields) + b"\r\n"
    return Fetched(
        url, status, headers=fields, request_head=b"GET / HTTP/1.1\r\n\r\n", response_head=head,
        payload=body, address="1.2.3.4", wall_time=WALL, first_byte_seconds=0.1, seconds=0.2,
        wire_bytes=2500,
    )  # fmt: skip


def crawled(folder: Path, task: Task = TASK, *, to: str = "", body: bytes = b"x" * 2000) -> Brought:
    """What a node brings: a seed with links, a page like it, a failure, robots.txt."""
    run = RunFolder(folder, "2026-11-19T00-00-00")
    for made in (run.spool, run.warc):
        made.mkdir(parents=True, exist_ok=True)
    name, visit = task.whose
    place = run.place(name, visit=visit)
    spool = SiteSpool(place, one_visit=task.part is not None)
    seed = task.site.seeds[0]
    spool.record(JournalEntry(UrlOutcome.FOUND, found=task.site.seeds))
    spool.put(Page(response(seed + "robots.txt", status=404), 0, role=Role.ROBOTS))
    at = seed
    if to:
        entry = JournalEntry(UrlOutcome.REDIRECT, seed, [to])
        spool.put(Page(response(seed, status=301, to=to), 0), entry)
        at = to
    spool.commit()
    links = Links((f"{at}a", f"{at}b", "http://elsewhere.test/"), ("", "nofollow", ""))
    found = [f"{at}a", f"{at}b"]
    spool.put(
        Page(response(at, body=body), 0, links=links), JournalEntry(UrlOutcome.PAGE, at, found, 1)
    )
    spool.put(
        Page(response(f"{at}a", body=body + b"a"), 1),
        JournalEntry(UrlOutcome.PAGE, f"{at}a", depth=2),
    )
    failed = FetchFailure(f"{at}b", FailureKind.CLOSED, "cut off", wall_time=WALL)
    spool.put(Page(failed, 1), JournalEntry(UrlOutcome.FAILURE, f"{at}b", depth=1))
    spool.finish()
    spool.commit()
    spool.close()
    return brought(place, run, task)


def brought(place: SpoolPlace, run: RunFolder, task: Task) -> Brought:
    files = {path.name: (str(path), path.stat().st_size) for path in run.warc.iterdir()}
    return Brought(str(place.journal), files, task, WALL + 86_400, b"secret")


def told_otherwise(was: Brought, change: Change) -> None:
    """Write the journal anew with other commits; of links and rows what the types allow not."""
    path = Path(was.journal)
    line = path.read_bytes().split(b"\n", 1)[0] + b"\n"
    commits = [change(commit) for commit in read_commits(path)]
    write_frames(path, line, [tuple(map(_packed, commit)) for commit in commits])


def _packed(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


def write_frames(path: Path, line: bytes, frames: list[tuple[bytes, ...]]) -> None:
    log, compressor = bytearray(line), ZstdCompressor(level=1)
    for plain in frames:
        sections = [compressed(compressor, section) for section in plain]
        check = framed_log._check(sections)
        log += _KIND.header.pack(_KIND.mark, *map(len, sections), check) + b"".join(sections)
    path.write_bytes(log)


@pytest.mark.parametrize(
    "task",
    [
        TASK,
        Task(Site("docs", seeds=("http://docs.test/",), include=("/a",))),
    ],
)
def test_what_a_crawl_writes_passes(tmp_path: Path, task: Task) -> None:
    assert lie_of(crawled(tmp_path, task)) == ""


def test_octets_of_a_query_and_pictures_of_other_hosts_pass(tmp_path: Path) -> None:
    """As links in Shift_JIS have them, and a seed that shows a picture."""
    site = Site("docs", seeds=("http://docs.test/",), requisites=Requisites.PAGE)
    links = ["http://docs.test/?q=%95\\"]
    picture = "http://pictures.test/a.png"

    def also(commit: Commit) -> Commit:
        more = (
            JournalEntry(UrlOutcome.FOUND, found=links, depth=1),
            JournalEntry(UrlOutcome.FOUND, found=[picture], depth=0, detail=NEEDED),
        )
        return with_entries(commit, *more)

    was = crawled(tmp_path, Task(site))
    told_otherwise(was, also)
    assert lie_of(was) == ""
    assert "outside of the site" in lie_of(crawled_otherwise(tmp_path / "other", also))


def with_entries(commit: Commit, *more: JournalEntry) -> Commit:
    group, rows, links = commit
    return replace(group, entries=[*group.entries, *more]), rows, links


def crawled_otherwise(folder: Path, change: Change) -> Brought:
    was = crawled(folder)
    told_otherwise(was, change)
    return was


def test_what_was_left_was_asked_for(tmp_path: Path) -> None:
    def leaving(commit: Commit) -> Commit:
        left = JournalEntry(UrlOutcome.FOUND, depth=1, left=["http://elsewhere.test/"])
        return with_entries(commit, left)

    assert "nobody asked for" in lie_of(crawled_otherwise(tmp_path / "a", leaving))
    was = crawled(tmp_path / "b", Task(SITE, asks=("http://elsewhere.test/",)))
    told_otherwise(was, leaving)
    assert lie_of(was) == ""


def test_a_host_that_a_seed_redirects_to_belongs_to_the_site(tmp_path: Path) -> None:
    assert lie_of(crawled(tmp_path, to="http://other.test/")) == ""


def test_pages_asked_for_before_the_seed_redirects_are_its_host_s(tmp_path: Path) -> None:
    """A site that is crawled again: what is known of it is asked for at once."""
    was = crawled(tmp_path, to="http://other.test/")

    def earlier(commit: Commit) -> Commit:
        group, rows, links = commit
        known = JournalEntry(UrlOutcome.FOUND, found=["http://other.test/known"], depth=1)
        return replace(group, entries=[known, *group.entries]), rows, links

    told_otherwise(was, earlier)
    assert lie_of(was) == ""


def rows_with(**values: Any) -> Change:
    def change(commit: Commit) -> Commit:
        group, rows, links = commit
        return group, [_forced(row, **values) for row in rows], links

    return change


def _forced(value: Any, **values: Any) -> Any:
    """A struct that says anything at all, as a list, which is how it is written."""
    names = value.__struct_fields__
    return [values.get(name, getattr(value, name)) for name in names]


def entries_with(**values: Any) -> Change:
    def change(commit: Commit) -> Commit:
        group, rows, links = commit
        told = [{**msgspec.to_builtins(entry), **values} for entry in group.entries]
        return _forced(group, entries=told), rows, links

    return change


def links_with(**values: Any) -> Change:
    def change(commit: Commit) -> Commit:
        group, rows, links = commit
        return group, rows, [_forced(line, **values) for line in links]

    return change


def mark_with(number: int, length: int) -> Change:
    def change(commit: Commit) -> Commit:
        group, rows, links = commit
        return _forced(group, mark=[number, length]), rows, links

    return change


def thrice(commit: Commit) -> Commit:
    group, rows, links = commit
    return group, rows * 3, links


LIES: dict[str, Change] = {
    "fewer rels than targets": links_with(rels="a"),
    "more rels than targets": links_with(rels="a\n" * 9),
    "links of nobody": links_with(source="http://docs.test/zzz"),
    "links at another depth": links_with(depth=7),
    "another visit": rows_with(visit=2**31 - 1),
    "no time": rows_with(fetched_at=math.nan),
    "the year 8307": rows_with(fetched_at=1.99e11),
    "an earlier page of the future": rows_with(original_at=1.99e11),
    "infinite": rows_with(seconds=math.inf),
    "no relevance": rows_with(relevance=math.nan),
    "a negative depth": rows_with(depth=-1),
    "an endless depth": rows_with(depth=2**31 - 1),
    "a foreign page": rows_with(url="http://victim.test/"),
    "a foreign page as robots.txt of nothing": rows_with(url="file:///etc/passwd"),
    "a user in a URL": rows_with(url="http://u:p@docs.test/"),
    "a page that is another": rows_with(url="http://docs.test/other"),
    "another digest": rows_with(digest=b"d" * 20),
    "a short digest": rows_with(digest=b"d"),
    "a long title": rows_with(title="t" * 90_000),
    "a role of its own": rows_with(role="guest"),
    "a failure of its own": rows_with(status=0, error="boredom"),
    "a failure with a status": rows_with(error="closed"),
    "no record": rows_with(warc_file=""),
    "a record elsewhere": rows_with(warc_file="../docs-00001.warc.gz"),
    "a record beyond the end": rows_with(warc_offset=2**59),
    "a record that reaches beyond": rows_with(warc_length=2**59),
    "rows three times": thrice,
    "an earlier record anywhere": rows_with(original_file="/etc/passwd"),
    "a mark beyond the end": mark_with(1, 2**50),
    "a mark in another file": mark_with(9, 1),
    "a mark before its records": mark_with(1, 0),
    "an entry at a negative depth": entries_with(depth=-5),
    "an entry at an endless depth": entries_with(depth=2**31),
    "a foreign seed": entries_with(found=["http://victim.test/"], depth=0),
    "a foreign link": entries_with(found=["http://victim.test/"], depth=3),
    "a file": entries_with(found=["file:///etc/passwd"], depth=1),
    "a private host": entries_with(found=["http://192.168.0.1/"], depth=0),
    "a foreign end": entries_with(url="http://victim.test/"),
    "a foreign page that changed": entries_with(modified=[["http://victim.test/", 1e9]]),
    "a change in the future": entries_with(modified=[["http://docs.test/", 1e12]]),
    "a change at no time": entries_with(modified=[["http://docs.test/", math.nan]]),
    "levels for nothing": entries_with(levels=b"\1" * 77),
    "levels of what rose": entries_with(raised_levels=b"\1"),
    "a long detail": entries_with(detail="d" * 90_000),
    "a negative number of links": entries_with(refused=[["robots.txt", -1, "http://a.test/"]]),
    "a long reason": entries_with(refused=[["r" * 90_000, 1, "http://a.test/"]]),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_each_lie_of_form_is_refused_in_a_few_words(tmp_path: Path, lie: str) -> None:
    was = crawled(tmp_path)
    for nothing in (rows_with(), entries_with(), links_with()):
        told_otherwise(was, nothing)
        assert lie_of(was) == ""
    told_otherwise(was, LIES[lie])
    found = lie_of(was)
    assert found
    assert len(found) <= 300


def test_a_commit_for_another_site_is_none(tmp_path: Path) -> None:
    was = crawled(tmp_path)
    told_otherwise(was, lambda commit: (_forced(commit[0], site="other"), *commit[1:]))
    assert "another site" in lie_of(was)
    assert "another site" in lie_of(replace(was, task=Task(replace(SITE, name="other"))))


def test_a_redirect_that_the_archive_does_not_have_lets_nobody_in(tmp_path: Path) -> None:
    was = crawled(tmp_path)

    def moved(commit: Commit) -> Commit:
        group, rows, links = commit
        to = {"status": 301, "location": "http://victim.test/"}
        return group, [replace(row, **to) if row.role == Role.PAGE else row for row in rows], links

    told_otherwise(was, moved)
    assert "redirect" in lie_of(was)


def test_a_page_whose_record_was_replaced_is_noticed(tmp_path: Path) -> None:
    was = crawled(tmp_path)
    ((path, size),) = was.files.values()
    data = bytearray(Path(path).read_bytes())
    place = rows_of(was)[2].warc_offset
    data[place + 200 : place + 210] = bytes(10)
    Path(path).write_bytes(data)
    assert lie_of(was)
    assert len(data) == size


def rows_of(was: Brought) -> list[Any]:
    return [row for _, rows, _ in read_commits(Path(was.journal)) for row in rows]


BOMBS = {
    "one frame": [200 << 20],
    "one frame that is just too large": [65 << 20],
    "many frames": [60 << 20] * 20,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_not_unpacked(tmp_path: Path, bomb: str) -> None:
    was = crawled(tmp_path)
    path = Path(was.journal)
    line = path.read_bytes().split(b"\n", 1)[0] + b"\n"
    write_frames(path, line, [(bytes(size), b"", b"") for size in BOMBS[bomb]])
    before = _peak_bytes()
    assert "unpacks" in lie_of(was)
    assert _peak_bytes() - before < 10_000_000


def test_what_takes_too_much_memory_ends_the_child_alone(tmp_path: Path) -> None:
    """As many words as fit a frame: each takes more as a value than packed."""
    was, many = crawled(tmp_path), (1 << 20) * 20
    path = Path(was.journal)
    line = path.read_bytes().split(b"\n", 1)[0] + b"\n"
    found = b"\xdd" + many.to_bytes(4) + b"\xa2ab" * many
    group = b"\x95" + b"\x91\x83\xa7outcome\xa5found\xa5depth\x01\xa5found" + found
    write_frames(path, line, [(group, b"\x90", b"\x90")])
    checks, before = JournalChecks(), _peak_bytes()
    try:
        assert checks.lie(was)
        assert _peak_bytes() - before < 10_000_000
        assert checks.lie(crawled(tmp_path / "honest")) == ""
    finally:
        checks.close()


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_one_child_checks_many_results_and_is_replaced_if_it_dies(tmp_path: Path) -> None:
    checks, was = JournalChecks(), crawled(tmp_path)
    try:
        assert checks.lie(was) == ""
        (child,) = checks._idle
        assert checks.lie(was) == ""
        assert checks._idle == [child]
        child.terminate()
        child._process.kill()
        assert checks.lie(was)
        assert checks.lie(was) == ""
    finally:
        checks.close()


def test_links_of_unequal_number_are_no_value() -> None:
    with pytest.raises(ValueError, match="as many rels"):
        LinkLines("http://a.test/", 0, "x\ny", "one")
