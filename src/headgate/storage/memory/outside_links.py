"""Links of a kept site to other kept sites, on their way there.

A visit writes the links that no earlier visit reported to a file in the folder ``links`` (the
digests of reported ones are in ``sites/SITE.links``). The keeper passes each on to its site, in
``sites/SITE.given``, and adds them to the site's memory while no visit runs, as known pages that
were never requested. Each step is idempotent, and repeated after a crash.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from headgate.frontier.inter_site import KnownLinks
from headgate.frontier.scope import Scope, is_web_url
from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Commit, Owner
from headgate.storage.memory.merging import merge
from headgate.storage.memory.page_memory import Sighting
from headgate.storage.memory.site_memory import SiteMemory
from headgate.storage.own_files import opened
from headgate.storage.replacing import write_soon, write_whole
from headgate.storage.warc.writer import file_safe

__all__ = ["FoundLinks", "give", "leave_links", "put_given", "take_links"]

_FOLDER = "links"
_MOST_OF_VISIT, _MOST_GIVEN = 10_000, 10_000
_MOST_BYTES = 50_000_000


class FoundLinks(msgspec.Struct, frozen=True):
    site: str
    """The site whose pages contain them."""
    urls: tuple[str, ...]


def leave_links(
    run: RunFolder, owner: Owner, site: Site, read: Callable[[], Iterable[Commit]]
) -> None:
    """Save the new links of a visit that has ended."""
    collection = Collection(run.collection)
    digests = _beside(collection, owner.site, "links")
    known = KnownLinks.from_bytes(_read(digests))
    urls = known.new(_outside(Scope.of(site), read()), _MOST_OF_VISIT)
    if not urls:
        return
    folder = run.collection / _FOLDER
    folder.mkdir(exist_ok=True)
    found = msgspec.json.encode(FoundLinks(owner.site, tuple(urls)))
    write_soon(folder / f"{file_safe(owner.site)}~{owner.visit}.json", found)
    collection.memories.mkdir(exist_ok=True)
    write_soon(digests, known.to_bytes())


def take_links(collection: Path) -> Iterator[FoundLinks]:
    """All saved links; each file is deleted when the next is requested."""
    for path in sorted((collection / _FOLDER).glob("[!.]*.json")):
        with contextlib.suppress(msgspec.MsgspecError):
            yield msgspec.json.decode(_read(path), type=FoundLinks)
        path.unlink(missing_ok=True)


def give(collection: Collection, site: str, urls: Sequence[str]) -> None:
    """Store links for `put_given`. Beyond ten thousand they are dropped: the pages that link to
    them will be visited again."""
    path = _beside(collection, site, "given")
    waiting = dict.fromkeys((*_lines(path), *urls))
    write_whole(path, "\n".join(list(waiting)[:_MOST_GIVEN]).encode("utf-8", "replace"))


def put_given(collection: Collection, site: str, now: float) -> int:
    """Add them to the memory of a site that was visited before and is not being visited now;
    returns how many are new. Raises `DamagedMemory`."""
    path = _beside(collection, site, "given")
    urls = _lines(path)
    if not urls:
        return 0
    memory = collection.memory(site)
    with SiteMemory.checked(memory, site) as old:
        new = [Sighting(url, 0, now) for url in urls if old.find(url) is None]
        if new:
            merge(memory, old, old.summary.run, lambda _: new)
    path.unlink()
    return len(new)


def _outside(scope: Scope, commits: Iterable[Commit]) -> Iterator[str]:
    for _, _, links in commits:
        for page in links:
            targets = page.targets.split("\n")
            inside = set(scope.inside(scope.candidates(targets)))
            yield from (url for url in targets if url not in inside and is_web_url(url))


def _beside(collection: Collection, site: str, kind: str) -> Path:
    return collection.memory(site).with_suffix(f".{kind}")


def _lines(path: Path) -> list[str]:
    return _read(path).decode("utf-8", "replace").split()


def _read(path: Path) -> bytes:
    try:
        with opened(path) as file:
            return file.read(_MOST_BYTES)
    except (OSError, UserMistake):
        return b""
