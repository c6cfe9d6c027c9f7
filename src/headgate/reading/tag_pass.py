"""The pass over a page's tags: returns the wanted ones with their wanted attributes.

There are two equivalent implementations. One is compiled from C (`_tags.c`); the other, in Python
(`tags`), is used if there was no compiler at installation, and as the reference in tests. The
compiled one is some twenty times as fast (bench/reading.py).

Tags come in the page's order. One with none of its keys is left out. Values have their character
references read; of two attributes with one name the first counts; those behind a tag's thousandth
are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from typing import Any, Protocol

from headgate.reading.tags import StartTag, attributes, start_tags, unescaped
from headgate.reading.urls import without_fragment

__all__ = [
    "COMPILED",
    "CompiledTags",
    "PlainTags",
    "Tag",
    "TagPass",
    "Wanted",
    "bare",
    "tag_pass",
    "tidy",
]

Wanted = dict[str, tuple[str, ...]]
"""The names of tags, each with the keys of the attributes to be read. ``a`` comes first, with
``href`` first; a name without keys is one of raw text, which is read."""

Tag = tuple[str, dict[str, str], str | None, int]
"""Name; attributes; raw text, if wanted and there; where it ends, raw text included."""

_LONGEST_TEXT = 2_000
"""Characters of raw text that are returned."""


_MOST_TAGS = 256
"""Of the plain pass at a time; the compiled one has its own bounds."""

_Batch = Callable[[str, int, bool], tuple[list["str | Tag"], int]]
"""(page, start, brief) → some tags, and where to continue."""


def _compiled() -> Any:
    """The class, or None; imported by name, since type checkers do not know it."""
    try:
        return import_module("headgate.reading._tags").CompiledPass
    except ImportError:
        return None


_COMPILED_PASS = _compiled()
COMPILED = _COMPILED_PASS is not None
"""Whether the compiled pass is available."""


class TagPass(Protocol):
    """Finds the wanted tags."""

    def batches(self, page: str, *, brief: bool) -> Iterator[list[str | Tag]]:
        """All of a page, some at a time. If ``brief``, of an ``<a>`` that has an ``href`` and no
        other of its keys just what it refers to, by `tidy`."""


def tag_pass(wanted: Wanted) -> TagPass:
    """The fastest available."""
    return CompiledTags(wanted) if COMPILED else PlainTags(wanted)


class CompiledTags:
    """In batches, between which other threads can run."""

    def __init__(self, wanted: Wanted) -> None:
        self._batch: _Batch = _COMPILED_PASS(wanted, unescaped, tidy).batch

    def batches(self, page: str, *, brief: bool) -> Iterator[list[str | Tag]]:
        place, length = 0, len(page)
        while place < length:
            found, place = self._batch(page, place, brief)
            yield found


class PlainTags:
    """By regular expressions."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._names = frozenset(wanted)

    def batches(self, page: str, *, brief: bool) -> Iterator[list[str | Tag]]:
        tags = self._tags(page, brief=brief)
        while batch := list(islice(tags, _MOST_TAGS)):
            yield batch

    def _tags(self, page: str, *, brief: bool) -> Iterator[str | Tag]:
        for match in start_tags(page, self._names):
            href = match[1]
            if href is None:
                if match.lastindex is None:
                    return
                yield from self._read(match, brief=brief)
            elif brief:
                yield tidy(href)
            else:
                yield "a", {"href": unescaped(href)}, None, match.end()

    def _read(self, match: StartTag, *, brief: bool) -> Iterator[str | Tag]:
        """None or one, of any tag but the tidiest anchors."""
        name = (match[2] or match[4]).lower()
        keys = self._wanted[name]
        if not keys:
            if match[6] is not None:
                yield name, {}, match[6][:_LONGEST_TEXT], match.end()
            return
        found = attributes(match[3] or match[5])
        wanted = {key: found[key] for key in keys if key in found}
        if brief and name == "a" and wanted.keys() == {"href"}:
            yield bare(wanted["href"])
        elif wanted:
            yield name, wanted, None, match.end()


def tidy(ref: str) -> str:
    """A reference as a page writes it: character references read, without fragment.

    >>> tidy("a?b&amp;c#d")
    'a?b&c'
    """
    return bare(unescaped(ref))


def bare(ref: str) -> str:
    """A reference without its fragment, where that can be cut."""
    return without_fragment(ref) if "#" in ref else ref
