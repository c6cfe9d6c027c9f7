"""Tags: the start tags of a page that carry links, found in one pass and without a tree.

This is the plain pass; `TagPass` says when it serves. It follows the HTML standard's tokeniser:
comments, quoted attributes, scripts and other raw text are passed over by its rules, so that a tag
inside them is never taken for one. It is written as one regular expression that never goes back on
a repetition: time grows with the page's length and no faster, and memory holds the page and one
match.

That bound is why no tree is built. Tree builders do more than links need, and a stranger can make
them do far more: lexbor takes 25 s for 100,000 nested ``<div>`` (500 KB), turbohtml 180 MB for a
page of 72 KB whose formatting tags are never closed. On ordinary pages this pass costs about the
same as they do (bench/reading.py). Tests hold it against lexbor; on 6,480 pages of documentation
the two found the same links.

Departures from the standard, all of which see rather too much than too little: a script ends at
its first ``</script``, even inside ``<!--``; a raw-text tag that closes itself (``<title/>``) is
empty, as in SVG and XHTML, where such are found; CDATA ends at the first ``>``; what is in a
``<template>`` is read like the rest.
"""

from __future__ import annotations

import html
import re
import string
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from html.entities import html5
from importlib import import_module
from itertools import islice
from typing import Any, Protocol

from headgate.reading.urls import without_fragment

__all__ = [
    "ATTRIBUTES",
    "BLANK",
    "COMPILED",
    "CompiledTags",
    "PlainTags",
    "StartTag",
    "Tag",
    "TagPass",
    "Wanted",
    "attributes",
    "bare",
    "shown_text",
    "start_tags",
    "tag_pass",
    "unescaped",
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
    """The pass over a page's tags: returns the wanted ones with their wanted attributes.

    There are two equivalent implementations. One is compiled from C (`_tags.c`); the other, in
    Python (`tags`), is used if there was no compiler at installation, and as the reference in
    tests. The compiled one is some twenty times as fast (bench/reading.py).

    Tags come in the page's order. One with none of its keys is left out. Values have their
    character references read; of two attributes with one name the first counts; those behind a
    tag's thousandth are not read.

    Finds the wanted tags.
    """

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


# The start tags of a page.


StartTag = re.Match[str]
"""A found tag. Group 1 is the href of an ``<a>`` of the commonest shape, which has no other group;
2 and 3 are name and attributes of any other tag; 4, 5 and 6 are name, attributes and text of one
whose content is raw text. All as written; 5 and 6 may be None."""


def _all(pattern: str) -> str:
    """As many as there are, for good.

    Python 3.11.0 to 3.11.4 go wrong where a possessive group fails half-way (gh-106052). Atomic
    groups do the same there, a fifth slower; two nested ones, because one alone would hold some
    200 bytes for every repetition until its end.
    """
    if sys.version_info >= (3, 11, 5):
        return f"(?:{pattern})*+"
    return f"(?>(?:(?>(?:{pattern}){{1,500}}))*)"


BLANK = r"\t\n\f\r "
_NAME = rf"[^{BLANK}/>]*+"
_NAME_END = rf"(?=[{BLANK}/>])"
_KEY = rf"[^{BLANK}/>][^{BLANK}/>=]*+"
_EQUALS = rf"[{BLANK}]*+=[{BLANK}]*+"
_BARE = rf"[^{BLANK}>\"'][^{BLANK}>]*+"
_VALUE = rf"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|{_BARE}|(?=>))"
ATTRIBUTES = _all(rf"[{BLANK}/]++|{_KEY}(?>(?:{_EQUALS}{_VALUE})?)")
"""All between a tag's name and its ``>``; to the end of the page where a quote stays open."""
_ATTRIBUTE = re.compile(rf"({_KEY})(?:{_EQUALS}(?:\"([^\"]*+)\"?|'([^']*+)'?|({_BARE})))?")

_TIDY_VALUE = rf"(?<![{BLANK}/\"])=\"[^\"<>]*+\"[^<>\"'=]*+"
_TIDY_END = rf"[^<>\"'={BLANK}/]*+(?>(?:[{BLANK}/][^<>\"'=]*+{_all(_TIDY_VALUE)})?)>"
"""The rest of a tag whose values, if any, are in double quotes and free of ``<`` and ``>``. Most
tags are like that, and passed over thrice as fast."""
_TIDY_KEY = rf"[{BLANK}]++[^hHrRxX<>\"'={BLANK}/][^<>\"'={BLANK}/]*+=\"[^\"<>]*+\""
_TIDY_ANCHOR = (
    rf"[aA]{_all(_TIDY_KEY)}[{BLANK}]++href=\"([^\"<>]*+)\""
    rf"{_all(_TIDY_KEY)}[{BLANK}]*+>"
)
"""An anchor that surely has one ``href``, no ``xlink:href`` and no ``rel``: no other key has their
initials."""

_RAW_TEXT = frozenset(
    ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
)
_SAME_NAME = r"(?ai:\4)"
_COMMON_INITIALS = "sptlh"
"""Of the elements that most pages consist of: span, strong, p, pre, table, td, li, h1 ..."""

_REFERENCE = re.compile(r"&(?:#[xX]?[0-9a-fA-F]++;?|[A-Za-z0-9]++(?:;|(?![=;])))")
_REFERENCE_IN_TEXT = re.compile(r"&(?:#[xX]?[0-9a-fA-F]++|[A-Za-z0-9]++);?")
_LONGEST_REFERENCE = 64
_MOST_ATTRIBUTES = 1_000
_REPEATED_TAG = 400
"""Characters of attributes up to which they are worth remembering: 4 MB in all."""
_MARKUP = re.compile(rf"<(?:!--[^-]*+{_all('-(?!->)[^-]*+')}(?:-->|\Z)|[^>]*+(?:>|\Z))")


def start_tags(page: str, names: frozenset[str]) -> Iterator[StartTag]:
    """The start tags of these names in order, and last a match without groups.

    ``a`` and ``title`` must be among the names.
    """
    return _pattern(names).finditer(page)


def attributes(text: str | None) -> Mapping[str, str]:
    """What stands between a tag's name and its ``>``. Of two with one name, the first counts.

    The heads and menus of a site's pages repeat each other, so what was read lately is remembered.

    >>> attributes(' HREF="a&amp;b" rel=nofollow async href=c')
    {'href': 'a&b', 'rel': 'nofollow', 'async': ''}
    """
    if not text:
        return {}
    return _remembered_attributes(text) if len(text) < _REPEATED_TAG else _read_attributes(text)


def unescaped(value: str) -> str:
    """An attribute's value with its character references read.

    A name without its semicolon that a letter, a digit or ``=`` follows is no reference there.

    >>> unescaped("?a=1&copy=2&amp;b=&#x33;&lt")
    '?a=1&copy=2&b=3<'
    """
    references = value.count("&")
    if not references:
        return value
    if references == value.count("&amp;"):
        return value.replace("&amp;", "&")
    return _REFERENCE.sub(_in_attribute, value)


def shown_text(markup: str) -> str:
    r"""Markup as one line of text: no tags, references read, blanks folded.

    >>> shown_text(" Tom &amp\n <b>Jerry</b> ")
    'Tom & Jerry'
    """
    text = _MARKUP.sub("", markup) if "<" in markup else markup
    return " ".join(_REFERENCE_IN_TEXT.sub(_in_text, text).split())


def _read_attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in islice(_ATTRIBUTE.finditer(text), _MOST_ATTRIBUTES):
        key, double, single, bare = match.groups("")
        if key.isascii():  # others are nobody's, and must not be lowered to one of ours
            found.setdefault(key.lower(), unescaped(double or single or bare))
    return found


_remembered_attributes = lru_cache(4_096)(_read_attributes)


def _in_attribute(reference: re.Match[str]) -> str:
    name = reference[0][1:]
    return _in_text(reference) if name[0] == "#" or name in html5 else reference[0]


def _in_text(reference: re.Match[str]) -> str:
    """Python refuses to read a number of thousands of digits; no character has so many."""
    text = reference[0]
    return html.unescape(text) if len(text) <= _LONGEST_REFERENCE else "\ufffd"


@cache
def _pattern(wanted: frozenset[str]) -> re.Pattern[str]:
    """Whatever is to be passed over, then a wanted tag, or the end, or a tag that never ends."""
    told_apart = wanted | _RAW_TEXT | {"plaintext"}
    passed = "|".join(
        (
            r"""/[^<>"'=]*+>""",
            rf"(?={_initials_of_others(told_apart)})[a-zA-Z]{_TIDY_END}",
            rf"(?!{_whole_name(told_apart)})[a-zA-Z](?:{_TIDY_END}|{_NAME}{ATTRIBUTES}(?:>|\Z))",
            rf"!--(?:-?>|[^-]*+{_all('-(?!-!?>)[^-]*+')}(?:--!?>|\Z))",
            rf"/[a-zA-Z]{_NAME}{ATTRIBUTES}(?:>|\Z)",
            r"[!?/][^>]*+(?:>|\Z)",
            r"(?![a-zA-Z])",
            *(_raw_element(name) for name in sorted(_RAW_TEXT - wanted)),
            rf"{_whole_name(['plaintext'])}[\s\S]*+",
        )
    )
    tags = "|".join(
        (
            _TIDY_ANCHOR,
            rf"({_whole_name(wanted - _RAW_TEXT)})({ATTRIBUTES})>",
            f"({_spelled(wanted & _RAW_TEXT)}){_raw_rest(_SAME_NAME, '({})')}",
        )
    )
    return re.compile(rf"[^<]*+{_all(rf'<(?:{passed})[^<]*+')}(?:<(?:{tags})|\Z|<[\s\S]*+)")


def _spelled(names: Iterable[str]) -> str:
    either_case = ("".join(f"[{c}{c.upper()}]" for c in name) for name in sorted(names))
    return f"(?:{'|'.join(either_case)})"


def _whole_name(names: Iterable[str]) -> str:
    return _spelled(names) + _NAME_END


def _initials_of_others(names: Iterable[str]) -> str:
    """Beginnings that tell a tag to be none of these: a first letter, or the first two."""
    seconds = dict.fromkeys(string.ascii_lowercase, "")
    for name in names:
        seconds[name[0]] += name[1:2] or "\t\n\f\r />"
    free = "".join(letter + letter.upper() for letter, second in seconds.items() if not second)
    unlike = (
        rf"[{letter}{letter.upper()}][^{seconds[letter]}{seconds[letter].upper()}<>\"'=]"
        for letter in _COMMON_INITIALS
    )
    return "|".join((f"[{free}]", *unlike))


def _raw_element(name: str) -> str:
    return _spelled([name]) + _raw_rest(_spelled([name]), "{}")


def _raw_rest(name: str, group: str) -> str:
    """Attributes and text of a raw-text element; no text when the tag closes itself."""
    text = "[^<]*+" + _all(f"<(?!/{name}{_NAME_END})[^<]*+")
    closed = rf"(?<=[{BLANK}\"']/>)"
    return rf"(?:/>|{_NAME_END}{group.format(ATTRIBUTES)}>(?:{closed}|{group.format(text)}))"
