"""Content of pages for an export: main text, Markdown or HTML."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
import numpy as np
import pyarrow as pa
import xxhash

from headgate.features.export.text_workers import answers
from headgate.reading.main_text import TEXT_FORMS, check_main_text, main_text
from headgate.storage.page_states import THERE
from headgate.storage.stored_page import StoredPage, UnreadablePage

__all__ = ["Contents", "Told", "page_document", "page_file_name"]

CONTENTS = (*TEXT_FORMS, "html")
_MOST_CHARACTERS = 4_000_000
"""Most characters of a page: libraries take long for more."""
_ROWS_AT_ONCE = 256
_Row = Mapping[str, Any]


class PageContent(msgspec.Struct, frozen=True):
    """The content of one page."""

    content: str | None = None
    """None: it has no text."""
    language: str = ""
    published: str = ""
    trouble: str = ""
    """Why it could not be read."""


Told = tuple[PageContent, str]
"""The content, and the URL of the first near-duplicate; empty: there is none."""


class Contents:
    """Reads the contents of pages, in order; counts those that could not be read."""

    def __init__(self, collection: Path, form: str) -> None:
        if form in TEXT_FORMS:
            check_main_text()
        self._collection = collection
        self._form = form
        self._near = NearDuplicates()
        self.unreadable = 0
        self.first_trouble = ""

    def read(self, batches: Iterable[pa.Table]) -> Iterator[tuple[pa.Table, list[Told]]]:
        """Batches of rows with their contents."""
        waiting: deque[tuple[pa.Table, list[_Row], list[Told]]] = deque()

        def questions() -> Iterator[tuple[Path, str, _Row]]:
            for batch in batches:
                for start in range(0, len(batch), _ROWS_AT_ONCE):
                    some = batch.slice(start, _ROWS_AT_ONCE)
                    waiting.append((some, some.to_pylist(), []))
                    for row in waiting[-1][1]:
                        yield self._collection, self._form, row

        for content in answers(_content, questions()):
            some, rows, told = waiting[0]
            told.append(self._told(rows[len(told)], content))
            if len(told) == len(rows):
                yield some, told
                waiting.popleft()

    def _told(self, row: _Row, content: PageContent | None) -> Told:
        if content is None:
            content = PageContent(trouble=f"{row['url']}: reading it took too long, or broke off")
        if content.trouble:
            self.unreadable += 1
            self.first_trouble = self.first_trouble or content.trouble
        if content.content and self._form in TEXT_FORMS:
            return content, self._near.first_like(row["url"], content.content)
        return content, ""


def _content(question: tuple[Path, str, _Row]) -> PageContent:
    """Runs in another process."""
    collection, form, row = question
    if row["role"] != "page" or row["status"] not in THERE:
        return PageContent()
    page = StoredPage(collection, row)
    try:
        html = page.html[:_MOST_CHARACTERS]
        if form == "html":
            return PageContent(html or None)
        if html:
            read = main_text(html, page.url, form, row["language"] or "")
            return PageContent(read.text or None, read.language, read.published)
        return PageContent(page.text[:_MOST_CHARACTERS] or None, row["language"] or "")
    except UnreadablePage as fault:
        return PageContent(trouble=str(fault))


class TextFormat(Protocol):
    @property
    def content(self) -> str | None: ...
    @property
    def language(self) -> str: ...
    @property
    def published(self) -> str: ...


def page_document(row: Mapping[str, Any], page: TextFormat, near: str) -> str:
    """A page as a text document: metadata as YAML, then the text.

    ``row``: of pages.parquet; ``near``: URL of a near-duplicate.
    """
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


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST_PART = 80
_MOST_PARTS = 12


def page_file_name(url: str, ending: str, *, marked: bool = False) -> str:
    """File names for exported pages, in folders by host and path.

    Path within the folder. Different URLs have different names, except for the same URL with
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


NEAR_BITS = 10
"""So many bits may differ."""
_LEAST_WORDS = 30
"""Of fewer, the hash says little."""
_MOST_WORDS = 50_000
_REMEMBERED = 100_000
_WORD = re.compile(r"\w+")


def simhash(text: str) -> int | None:
    """None: the text is too short.

    >>> words = [str(number) for number in range(500)]
    >>> one, other = simhash(" ".join(words)), simhash(" ".join([*words, "more"]))
    >>> (one ^ other).bit_count() <= NEAR_BITS
    True
    """
    words = _WORD.findall(text.lower())[:_MOST_WORDS]
    if len(words) < _LEAST_WORDS:
        return None
    trigrams = zip(words, words[1:], words[2:], strict=False)
    hashes = np.fromiter(
        (
            xxhash.xxh3_64_intdigest(" ".join(three).encode("utf-8", "replace"))
            for three in trigrams
        ),
        np.uint64,
    )
    bits = np.unpackbits(hashes.view(np.uint8).reshape(-1, 8), axis=1)
    major = bits.sum(axis=0, dtype=np.int64) * 2 > len(hashes)
    return int.from_bytes(np.packbits(major).tobytes())


class NearDuplicates:
    """Near-duplicates by simhash (Charikar 2002): texts that share most of their words share most
    bits.

    Each bit of the 64 is the majority of that bit over the hashes of all word trigrams. Two texts
    of which 0.5, 2 or 10 % of the words differ are about 4, 6 and 14 bits apart; unrelated ones 20
    or more.

    Finds near-duplicates among the last hundred thousand texts.
    """

    def __init__(self, remembered: int = _REMEMBERED) -> None:
        self._hashes = np.zeros(remembered, np.uint64)
        self._names = [""] * remembered
        self._count = 0

    def first_like(self, name: str, text: str) -> str:
        """The name of the first text that this one repeats; empty: it is new, and stored."""
        found = simhash(text)
        if found is None:
            return ""
        known = min(self._count, len(self._names))
        apart = np.bitwise_count(self._hashes[:known] ^ np.uint64(found))
        if known and int(apart.min()) <= NEAR_BITS:
            return self._names[int(apart.argmin())]
        place = self._count % len(self._names)
        self._hashes[place], self._names[place] = found, name
        self._count += 1
        return ""
