"""What a link says of its target before it is fetched: its section, and words."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["is_file", "section_of", "words_of"]

_FILES = frozenset((
    "7z", "apk", "avi", "bmp", "bz2", "c", "css", "csv", "deb", "dmg", "doc", "docx", "eps",
    "epub", "exe", "gif", "gz", "h", "ico", "iso", "jar", "jpeg", "jpg", "js", "json", "md",
    "mid", "mov", "mp3", "mp4", "mpeg", "mpg", "odp", "ods", "odt", "ogg", "pdf", "png", "ppt",
    "pptx", "ps", "py", "rar", "rpm", "rtf", "svg", "tar", "tex", "tgz", "tif", "tiff", "ttf",
    "txt", "wav", "webm", "webp", "wmv", "woff", "woff2", "xls", "xlsx", "xml", "xz", "zip",
))  # fmt: skip
"""Endings of files that are not HTML."""
_MOST_WORDS = 12
_MOST_ANCHOR = 200


def section_of(url: str) -> str:
    """The part of a server that a page belongs to: its host and the first folder of its path.
    Files that are no pages are a part of their own.

    >>> section_of("http://a.ke/news/1.html"), section_of("http://a.ke/about")
    ('a.ke/news', 'a.ke/')
    >>> section_of("http://a.ke/news/map.PDF"), section_of("http://a.ke/v1.2")
    ('a.ke/*.pdf', 'a.ke/')
    """
    rest = url.partition("://")[2].partition("?")[0]
    name, _, path = rest.partition("/")
    ending = path.rpartition("/")[2].rpartition(".")[2].lower()
    if ending in _FILES:
        return f"{name}/*.{ending}"
    folder, slash, _ = path.partition("/")
    return f"{name}/{folder}" if slash else f"{name}/"


def is_file(section: str) -> bool:
    """Whether a section is of files that have no links."""
    return "/*." in section


def words_of(url: str, anchor: str) -> Sequence[str]:
    """What a link says of its target: words of the last part of the path and of the anchor.

    >>> words_of("http://a/x/useful-links.html", "Our partners")
    ['useful', 'links', 'our', 'partners']
    """
    last = url.partition("?")[0].rpartition("/")[2].partition(".")[0]
    text = f"{last} {anchor[:_MOST_ANCHOR]}".lower()
    letters = "".join(char if char.isalpha() else " " for char in text)
    return list(dict.fromkeys(word for word in letters.split() if 3 <= len(word) <= 20))[
        :_MOST_WORDS
    ]
