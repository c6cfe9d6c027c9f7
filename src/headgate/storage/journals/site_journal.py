"""All commits of one visit to a site, in whichever journals they are.

Commits of a small site are scattered over a shared journal; if the site has grown, later ones are
in its own journal. A resumed run has further shared journals. This module only knows where commits
are; `journal` reads them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

import msgspec

from headgate.frontier.journal import JournalEntry
from headgate.storage.collection import RunFolder
from headgate.storage.journals.journal import (
    Commit,
    Group,
    LinkLines,
    Owner,
    read_commits,
    read_groups,
    read_links,
    read_owner,
    read_owners,
    read_pages,
    unpacked_bytes,
)
from headgate.storage.page import PageRow

__all__ = ["Piece", "SiteJournal", "shared_journals", "site_journals"]


class Piece(msgspec.Struct, frozen=True):
    """Commits of a site in one file."""

    path: Path
    starts: array[int] | None = None
    """Their offsets; None: the whole file belongs to the site."""


class SiteJournal(msgspec.Struct):
    """The commits of one visit; may be read repeatedly, also while it grows."""

    pieces: list[Piece] = msgspec.field(default_factory=list)
    """Oldest first."""

    def finished(self) -> bool:
        """Whether its last commit in a shared journal says that nothing is left to do."""
        shared = [piece for piece in self.pieces if piece.starts is not None]
        return any(
            group.finished
            for piece in shared[-1:]
            for group in read_groups(piece.path, piece.starts[-1:] if piece.starts else ())
        )

    def groups(self) -> Iterator[Group]:
        for piece in self.pieces:
            yield from read_groups(piece.path, piece.starts)

    def entries(self) -> Iterator[JournalEntry]:
        for group in self.groups():
            yield from group.entries

    def pages(self) -> Iterator[list[PageRow]]:
        for piece in self.pieces:
            yield from read_pages(piece.path, piece.starts)

    def links(self) -> Iterator[list[LinkLines]]:
        for piece in self.pieces:
            yield from read_links(piece.path, piece.starts)

    def commits(self, *, links: bool = True) -> Iterator[Commit]:
        for piece in self.pieces:
            yield from read_commits(piece.path, piece.starts, links=links)

    def unpacked_bytes(self) -> int:
        return sum(unpacked_bytes(piece.path, piece.starts) for piece in self.pieces)

    def note(self, path: Path, start: int) -> None:
        """A commit was written to a shared journal."""
        if not self.pieces or self.pieces[-1].path != path:
            self.pieces.append(Piece(path, array("Q")))
        starts = self.pieces[-1].starts
        assert starts is not None, "a site with its own journal does not share again"
        starts.append(start)


def shared_journals(run: RunFolder) -> dict[Owner, SiteJournal]:
    """The commits in shared journals, by visit."""
    found: dict[Owner, SiteJournal] = {}
    for path in run.shared_journals():
        for owner, start in read_owners(path):
            found.setdefault(owner, SiteJournal()).note(path, start)
    return found


def site_journals(run: RunFolder) -> dict[Owner, SiteJournal]:
    """The journals of all visits, ordered by site and number."""
    found = shared_journals(run)
    for path in run.journals():
        if owner := read_owner(path):
            found.setdefault(owner, SiteJournal()).pieces.append(Piece(path))
    return dict(sorted(found.items()))
