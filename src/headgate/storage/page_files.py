"""File names for exported pages, in folders by host and path."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import xxhash

__all__ = ["page_file_name"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST_PART = 80
_MOST_PARTS = 12


def page_file_name(url: str, ending: str, *, marked: bool = False) -> str:
    """Path within the folder. Different URLs have different names, except for the same URL with
    http and https; ``marked`` distinguishes them.

    >>> page_file_name("https://docs.example.org/a/b.html", ".md")
    'docs.example.org/a/b.html.md'
    >>> page_file_name("https://docs.example.org:81/a/?page=2", ".md")
    'docs.example.org_81/a/index~9dc00920b3927094.md'
    """
    parts = urlsplit(url)
    named = parts.path.split("/")[1:] or [""]
    wanted = [parts.netloc.replace(":", "_"), *named[:-1], named[-1] or "index"]
    safe = [_safe(part, ending) for part in wanted[:_MOST_PARTS]]
    exact = safe == wanted and not parts.query
    mark = (
        ""
        if exact and not marked and named[-1] != "index"
        else f"~{xxhash.xxh3_64_hexdigest(url.encode())}"
    )
    return "/".join(safe) + mark + ending


def _safe(part: str, ending: str) -> str:
    """A safe name: no parent folder, no hidden file, not too long, and no folder named like a
    file."""
    part = _UNSAFE.sub("_", part)[:_LONGEST_PART].lstrip(".") or "_"
    return f"{part}_" if part.lower().endswith(ending) else part
