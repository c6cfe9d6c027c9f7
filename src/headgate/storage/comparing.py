"""Compares two journals of the same visit by two nodes."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

from headgate.model.page import Role
from headgate.storage.journals.journal import read_pages

__all__ = ["differing_pages"]


def differing_pages(first: Path, second: Path) -> tuple[int, list[str]]:
    """The number of pages in both, and the URLs of those whose payload differs."""
    before = _digests(first)
    both = {url: digest for url, digest in _digests(second).items() if url in before}
    return len(both), sorted(url for url, digest in both.items() if before[url] != digest)


def _digests(journal: Path) -> dict[str, bytes]:
    return {
        row.url: row.digest
        for rows in read_pages(journal)
        for row in rows
        if row.role == Role.PAGE and row.status == HTTPStatus.OK and row.digest
    }
