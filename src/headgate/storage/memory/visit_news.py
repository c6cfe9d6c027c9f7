"""What a visit found new, changed or gone, for notices.

Made before the visit is merged into its site's memory, which forgets the old versions then. It is
written to the folder ``notices`` of the collection, a file per visit; again after a crash, it is
the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec

from headgate.model.change_notice import ArchivedPage, ChangeNotice
from headgate.model.page_change import Change, PageChange
from headgate.model.site import Site
from headgate.storage.collection import RunFolder
from headgate.storage.journals.journal import Commit, Owner
from headgate.storage.memory.merging import Files
from headgate.storage.memory.page_memory import PageMemory, after
from headgate.storage.memory.remembering import sightings
from headgate.storage.memory.site_memory import SiteMemory
from headgate.storage.replacing import write_soon
from headgate.storage.warc.writer import file_safe

__all__ = ["leave_news", "take_news"]

_FOLDER = "notices"
_MOST = 10_000
"""Most changes reported of one visit."""

Found = tuple[Change, PageMemory | None, PageMemory]
"""The kind of change, the page before, and the page now."""


def leave_news(
    run: RunFolder,
    owner: Owner,
    site: Site,
    old: SiteMemory,
    read: Callable[[], Iterable[Commit]],
) -> None:
    """Save the news of a visit that has ended; none of a first visit, where everything is new."""
    if not site.keeping.on_change or not len(old):
        return
    files = Files(list(old.summary.files))
    found = list(islice(_found(run, old, read(), files), _MOST))
    if not found:
        return
    wanted = {page.url for _, _, page in found}
    titles = {row.url: row.title for _, rows, _ in read() for row in rows if row.url in wanted}
    notices = [_notice(site, titles.get(one[2].url, ""), files, *one) for one in found]
    folder = run.collection / _FOLDER
    folder.mkdir(exist_ok=True)
    write_soon(folder / _name(owner), msgspec.json.encode(notices))


def take_news(collection: Path, owner: Owner | None = None) -> Iterator[ChangeNotice]:
    """Saved news of a visit, or of all; each file is deleted when the next is requested. A visit
    that is not merged yet may leave its news again."""
    folder = collection / _FOLDER
    if not folder.is_dir():
        return
    name = "[!.]*.json" if owner is None else _name(owner)
    for path in sorted(folder.glob(name)):
        try:
            notices = msgspec.json.decode(path.read_bytes(), type=list[ChangeNotice])
        except (OSError, msgspec.MsgspecError):
            notices = []
        yield from notices
        path.unlink(missing_ok=True)


def _name(owner: Owner) -> str:
    return f"{file_safe(owner.site)}~{owner.visit}.json"


def _found(
    run: RunFolder, old: SiteMemory, commits: Iterable[Commit], files: Files
) -> Iterator[Found]:
    """A page is new with its first content, however long its URL has been known; but what the
    site's first volume knew and did not fetch is the rest of its first visit."""

    @cache
    def first() -> float:
        return min(page.first_known for page in old)

    for sighting in sightings(run, commits, files):
        if sighting.look is None:
            continue
        before = old.find(sighting.url)
        page = after(before, sighting)
        if page.gone and before is not None and not before.gone:
            yield Change.GONE, before, page
        elif page.failing or not page.changed:
            continue
        elif before is None or before.gone:
            yield Change.NEW, before, page
        elif not before.changed:
            if before.first_known > first():
                yield Change.NEW, before, page
        elif page.changes > before.changes:
            yield Change.CHANGED, before, page


def _notice(
    site: Site,
    title: str,
    files: Files,
    change: Change,
    before: PageMemory | None,
    page: PageMemory,
) -> ChangeNotice:
    keeping = site.keeping
    seen = None if before is None or not before.told_at else before.told_at
    told = PageChange(change, site.name, page.url, title, page.asked, seen)
    if change is not Change.CHANGED or before is None:
        return ChangeNotice(keeping.on_change, told)
    old, new = (
        ArchivedPage(files.names[one.file], one.offset, one.original_url or one.url, one.digest)
        for one in (before, page)
    )
    return ChangeNotice(keeping.on_change, told, old, new, keeping.ignore)
