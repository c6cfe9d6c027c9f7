"""A page as a text document: metadata as YAML, then the text."""

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
    """``row``: of pages.parquet; ``near``: URL of a near-duplicate."""
    head = {
        "url": row["url"],
        "title": row["title"] or "",
        "fetched": f"{row['fetched_at']:%Y-%m-%dT%H:%M:%SZ}",
        "language": page.language,
        "published": page.published,
        "duplicate_of": near,
    }
    # A JSON string is a valid YAML string.
    lines = [
        f"{name}: {msgspec.json.encode(value).decode()}\n" for name, value in head.items() if value
    ]
    return f"---\n{''.join(lines)}---\n\n{(page.content or '').strip()}\n\n"
