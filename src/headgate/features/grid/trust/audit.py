"""Which results are fetched again by another node, and who of two is not believed. Pure.

Pages change, some at every request, so that two honest nodes bring different bytes. What cannot be
explained so is a contradiction: other bytes under the same validator of the server, another title,
more than twice the size, a page that is not there for the other. A node with contradictions in more
than half of the pages did not fetch what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

from headgate.features.grid.trust.hoarding import is_own

__all__ = ["AuditFinding", "Look", "audit_share", "compared", "disbelieved"]

_STRANGERS_SHARE = 0.02
_FIRST_RESULTS = 3
"""Of a new name, which are audited always."""
_TIMES_AS_LARGE = 2
_GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)


class Look(NamedTuple):
    """What a node says of a page."""

    status: int
    digest: bytes
    size: int = 0
    title: str = ""
    etag: str = ""
    last_modified: str = ""


class AuditFinding(NamedTuple):
    pages: int
    """That both have."""
    differing: list[str]
    """URLs of those with other bytes."""
    contradictions: list[str]
    """URLs of pages that cannot both be true."""

    @property
    def is_contradictory(self) -> bool:
        return 2 * len(self.contradictions) > max(self.pages, 1)


def audit_share(share: float, group: str, stored: int) -> float:
    """The probability that a result is fetched again. ``share``: the user's; ``stored``: results of
    its node that came before.

    >>> audit_share(0.0, "", 0), [audit_share(0.0, "club", stored) for stored in (0, 2, 3)]
    (0.0, [1.0, 1.0, 0.02])
    """
    if is_own(group):
        return share
    return 1.0 if stored < _FIRST_RESULTS else max(share, _STRANGERS_SHARE)


def compared(first: Mapping[str, Look], second: Mapping[str, Look]) -> AuditFinding:
    """Two journals of the same visit, by URL."""
    there = [url for url, look in first.items() if look.status == HTTPStatus.OK and look.digest]
    both = [url for url in there if url in second and second[url].status == HTTPStatus.OK]
    differing = sorted(url for url in both if first[url].digest != second[url].digest)
    gone = [url for url in there if url in second and second[url].status in _GONE]
    false = [url for url in differing if _contradict(first[url], second[url])]
    return AuditFinding(len(both), differing, sorted((*false, *gone)))


def disbelieved(first: str, second: str, groups: Mapping[str, str]) -> str:
    """Who of two nodes that contradict each other is not believed; empty: nobody knows. The
    operator's own nodes are."""
    own = [node for node in (first, second) if is_own(groups.get(node, ""))]
    if len(own) != 1:
        return ""
    return second if own == [first] else first


def _contradict(one: Look, other: Look) -> bool:
    """Of two looks with other bytes."""
    if one.etag and one.etag == other.etag and not one.etag.startswith("W/"):
        return True
    small, large = sorted((one.size, other.size))
    return one.title != other.title or large > _TIMES_AS_LARGE * small
