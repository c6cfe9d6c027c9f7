"""A file for each page, in folders by host and path: the name that a URL has there."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import xxhash

__all__ = ["page_file_name"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST_PART = 80
_MOST_PARTS = 12


def page_file_name(url: str, ending: str, *, marked: bool = False) -> str:
    """Within the folder; other URLs have other names, but for what http and https both have:
    there a mark tells them apart.

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
    """No other folder or hidden file, nothing too long, and no folder with a file's name."""
    part = _UNSAFE.sub("_", part)[:_LONGEST_PART].lstrip(".") or "_"
    return f"{part}_" if part.lower().endswith(ending) else part
