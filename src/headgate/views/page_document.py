"""A page as a text of its own: what is known of it in a head as YAML, then what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

__all__ = ["page_document"]


class Content(Protocol):
    @property
    def content(self) -> str | None: ...
    @property
    def language(self) -> str: ...
    @property
    def published(self) -> str: ...


def page_document(row: Mapping[str, Any], page: Content, near: str) -> str:
    """``row`` is of pages.parquet; ``near`` the URL of a page that says nearly the same."""
    head = {
        "url": row["url"],
        "title": row["title"] or "",
        "fetched": f"{row['fetched_at']:%Y-%m-%dT%H:%M:%SZ}",
        "language": page.language,
        "published": page.published,
        "duplicate_of": near,
    }
    # A string of JSON is one of YAML, whatever is in it.
    lines = [
        f"{name}: {msgspec.json.encode(value).decode()}\n" for name, value in head.items() if value
    ]
    return f"---\n{''.join(lines)}---\n\n{(page.content or '').strip()}\n\n"
