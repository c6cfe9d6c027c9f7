"""What a link tells of its target before it is fetched: the section it lies in, and words."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["section_of", "words_of"]

_MOST_WORDS = 12
_MOST_ANCHOR = 200


def section_of(url: str) -> str:
    """The part of a server that a page belongs to: its host and the first folder of its path.

    >>> section_of("http://a.ke/news/1.html"), section_of("http://a.ke/about")
    ('a.ke/news', 'a.ke/')
    """
    rest = url.partition("://")[2].partition("?")[0]
    name, _, path = rest.partition("/")
    folder, slash, _ = path.partition("/")
    return f"{name}/{folder}" if slash else f"{name}/"


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
