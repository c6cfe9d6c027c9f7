"""A web for focused crawls, by seed: sites about many things, some about the topic.

Pages of a site are a tree with some links across. A page on the topic leads to others on it more
often than a page that is not, as pages of the web do; how many of a site's pages are on it differs
widely between sites. Half of the links to pages on the topic say so in their words, and a few of
the other links say it, too. Lengths are log-normal.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from headgate.features.demo.sites import Prose

__all__ = ["TOPIC_WORDS", "TopicalWeb"]

TOPIC_WORDS = "food safety"
_ON_TOPIC = (
    "Food safety begins in the kitchen.",
    "Safe food is clean food, and food safety is checked every day.",
    "The office for food safety publishes what its laboratories found in food.",
)
_TELLING, _MISLEADING = 0.5, 0.03
"""Links to pages on the topic, and to others, whose words name it."""
_LEADS_ON = 8.0
"""Times as likely to be on the topic: a page that one on it leads to."""
_ACROSS = 3
_MEDIAN_BYTES, _SPREAD, _MOST_BYTES = 10_000, 0.8, 120_000


class TopicalWeb:
    """Page 0 of a site is its first; URLs are ``/``, ``/1``, ``/2`` ..."""

    def __init__(self, seed: int, sites: int, pages: int) -> None:
        rng = np.random.default_rng(seed)
        self.pages = pages
        self._seed = seed
        shares = np.clip(rng.lognormal(np.log(0.03), 1.0, sites), 0.003, 0.3)
        self._parents = [self._tree(rng, pages) for _ in range(sites)]
        self.on_topic = [
            _topics(rng, parents, float(share))
            for parents, share in zip(self._parents, shares, strict=True)
        ]
        """Of each site's pages, whether they are."""
        self._children = [_children(rng, parents) for parents in self._parents]
        lengths = rng.lognormal(np.log(_MEDIAN_BYTES), _SPREAD, (sites, pages))
        self._bytes = np.minimum(lengths, _MOST_BYTES).astype(int)

    def body(self, site: int, path: str) -> bytes | None:
        """Of the page at a path like ``/17``; None: there is none."""
        number = path.removeprefix("/") or "0"
        if not number.isdecimal() or int(number) >= self.pages:
            return None
        return self._page(site, int(number))

    def _page(self, site: int, number: int) -> bytes:
        prose = Prose(self._seed, site, number)
        links = "".join(
            f'<p><a href="/{child}">{self._words(site, child)}</a></p>'
            for child in self._children[site][number]
        )
        about = "".join(f"<p>{line}</p>" for line in _ON_TOPIC * 3)
        text = about if self.on_topic[site][number] else ""
        title = "Food safety" if self.on_topic[site][number] else prose.title()
        size = int(self._bytes[site, number]) - len(text) - len(links)
        filler = "".join(f"<p>{line}</p>\n" for line in _paragraphs(max(size, 0)))
        return f"<html><title>{title}</title>{text}{links}{filler}</html>".encode()

    def _words(self, site: int, number: int) -> str:
        prose = Prose(self._seed, "link", site, number)
        telling = _TELLING if self.on_topic[site][number] else _MISLEADING
        named = prose.number(10_000) < telling * 10_000
        return f"{prose.title()} and food safety" if named else prose.title()

    @staticmethod
    def _tree(rng: np.random.Generator, pages: int) -> list[int]:
        """The page that leads to each; the later ones of a site lie deeper."""
        return [int(rng.integers(max(0, k // 8), max(k // 3, 1))) for k in range(1, pages)]


def _topics(rng: np.random.Generator, parents: list[int], share: float) -> list[bool]:
    chances = rng.random(len(parents))
    on_topic = [False]
    for parent, chance in zip(parents, chances, strict=True):
        likely = min(share * (_LEADS_ON if on_topic[parent] else 1.0), 0.8)
        on_topic.append(bool(chance < likely))
    return on_topic


def _children(rng: np.random.Generator, parents: list[int]) -> list[list[int]]:
    pages = len(parents) + 1
    children: list[list[int]] = [[] for _ in range(pages)]
    for child, parent in enumerate(parents, 1):
        children[parent].append(child)
    for number, across in enumerate(rng.integers(0, pages, (pages, _ACROSS)).tolist()):
        children[number] += [other for other in across if other != number]
    return children


@lru_cache(maxsize=64)
def _all_paragraphs(size: int) -> tuple[str, ...]:
    return tuple(Prose("filler", size).paragraphs(size))


def _paragraphs(size: int) -> tuple[str, ...]:
    """Of about so many characters; making all of them anew would take longer than to crawl."""
    return _all_paragraphs(size // 1000 * 1000)
