"""A topic: a few weighted words, and how much a page, or a scrap of text, is about them.

Keywords weigh the same. Example pages give their most frequent words, weighed by how often they
stand there. Beside that, a word weighs the more the fewer pages hold it (inverse document
frequency), counted over the pages seen so far: only those of the topic's words, so it is little.

A page's relevance is BM25's: each word counts by its weight, the more often it stands in the page
the more, with less and less gain, and less in a long page. Divided by the most that could be, it is
between 0 and 1. Of example pages it is measured by what they reach themselves.

A scrap (an anchor's text, a URL) is measured by the weight of the words in it, against the three
heaviest of the topic.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from headgate.focus.signs import LinkSigns, PageSigns
from headgate.model.errors import extra

if TYPE_CHECKING:
    import Stemmer

__all__ = ["RELEVANT", "LinksIn", "Topic", "TopicOrder"]

RELEVANT = 0.5
"""From this relevance on a page counts as one about the topic."""

_SATURATION = 2.0
_LENGTH_WEIGHT = 0.5
_EXAMPLE_WORDS = 30
_SCRAP_WORDS = 3
_REMEMBERED_SCRAPS = 8_192
_REMEMBERED_WORDS = 200_000
_REMEMBERED_WORDS_OF_OTHERS = 20_000
"""Of each language but English: there are some twenty, and a page may say that it is in any."""
_LONGEST_SCRAP = 2_000


class Topic:
    """Learns from each page it is asked about."""

    def __init__(self, keywords: str, examples: Sequence[str] = ()) -> None:
        self._weights = _weights(keywords, examples)
        """By word, as it is written."""
        self._languages = {"en": _Stems(self._weights, "en", _REMEMBERED_WORDS)}
        """English is there from the start: what cannot be stemmed at all fails here."""
        self._holding: Counter[str] = Counter()
        """Pages that hold a word."""
        self._pages = 0
        self._words = 0
        self._scrap_stems = lru_cache(_REMEMBERED_SCRAPS)(self._stems_in)
        self._best = 1.0
        if examples and not words(keywords):
            reached = [self.relevance(text) for text in examples]
            self._best = sum(reached) / len(reached) or 1.0

    @property
    def empty(self) -> bool:
        """There is no word in it to go by."""
        return not self._weights

    def relevance(self, text: str, language: str = "") -> float:
        """How much a page is about the topic, from 0 to 1; the page is learned from."""
        stems = self._stems(language)
        found = words(text)
        counts = stems.count(found)
        self._pages += 1
        self._words += len(found)
        self._holding.update(counts.keys())
        rarity = self._rarity(stems)
        mean = self._words / self._pages or 1.0
        half = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * len(found) / mean)
        reached = sum(rarity[word] * count / (count + half) for word, count in counts.items())
        return min(reached / (sum(rarity.values()) or 1.0) / self._best, 1.0)

    def match(self, text: str, language: str = "") -> float:
        """How much of the topic a scrap of text names, from 0 to 1."""
        found = self._scrap_stems(text[:_LONGEST_SCRAP], known_language(language))
        if not found:
            return 0.0
        rarity = self._rarity(self._stems(language))
        heaviest = sum(sorted(rarity.values())[-_SCRAP_WORDS:])
        return min(sum(rarity[word] for word in found) / heaviest, 1.0)

    def _stems(self, language: str) -> _Stems:
        known = known_language(language)
        if known not in self._languages:
            self._languages[known] = _Stems(self._weights, known, _REMEMBERED_WORDS_OF_OTHERS)
        return self._languages[known]

    def _stems_in(self, text: str, language: str) -> frozenset[str]:
        return frozenset(self._stems(language).count(words(text)))

    def _rarity(self, stems: _Stems) -> dict[str, float]:
        holding, pages = self._holding, self._pages + 1
        return {
            word: weight * math.log1p(pages / (holding[word] + 0.5))
            for word, weight in stems.weights.items()
        }


class _Stems:
    """A topic's words in one language: which of a page's words are forms of them."""

    def __init__(self, weights: Mapping[str, float], language: str, remembered: int) -> None:
        self._language = language
        self._remembered = remembered
        self.weights: dict[str, float] = {}
        for word, weight in weights.items():
            own = stem(word, language)
            self.weights[own] = self.weights.get(own, 0.0) + weight
        self._forms: dict[str, str] = {}
        """The topic's stem of each word met; empty for words that have none of them."""

    def count(self, found: Iterable[str]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for word, times in Counter(found).items():
            form = self._forms.get(word)
            if form is None:
                form = self._learn(word)
            if form:
                counts[form] += times
        return counts

    def _learn(self, word: str) -> str:
        own = stem(word, self._language)
        form = own if own in self.weights else ""
        if len(word) <= _LONGEST_WORD:
            if len(self._forms) >= self._remembered:
                self._forms.clear()
            self._forms[word] = form
        return form


def _weights(keywords: str, examples: Sequence[str]) -> dict[str, float]:
    weights = dict.fromkeys(words(keywords), 1.0)
    if examples:
        counts = Counter(word for text in examples for word in words(text) if not word.isdigit())
        frequent = counts.most_common(_EXAMPLE_WORDS)
        for word, count in frequent:
            weights.setdefault(word, count / frequent[0][1])
    return weights


# Words as a topic sees them: in lower case, by their stems.
#
# Stemming is Snowball's (PyStemmer, C: 2 µs a word, the same algorithms in Python 50). The page's
# own language chooses the algorithm, English where it names none that is known. A word is a run of
# letters and digits, so that languages written without blanks have none to speak of.


_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_LONGEST_WORD = 40
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a about an and are as at be been but by can do for from had has have he her his how i if"
        " in into is it its may more no not of on one or our she so than that the their them then"
        " there these they this to was we were what when where which who will with would you your"
    )
)


def words(text: str) -> list[str]:
    """
    >>> words("The safety_of FOOD, 2nd edition")
    ['safety', 'food', '2nd', 'edition']
    """
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS]


def url_text(url: str) -> str:
    """What a URL says behind its host, as text.

    >>> url_text("https://a.org/docs/foodSafety.html?id=7%20a")
    'docs/food Safety.html?id=7 a'
    """
    path = url.partition("://")[2].partition("/")[2]
    return _CAMEL.sub(" ", _ESCAPED.sub(" ", path))


def known_language(language: str) -> str:
    """What to stem a page by that says it is in this language.

    >>> known_language("de-AT"), known_language("tlh"), known_language("")
    ('de', 'en', 'en')
    """
    return _known_code(language.strip()[:2].lower()[:2])


@lru_cache(64)
def _known_code(code: str) -> str:
    try:
        _stemmer(code)
    except (KeyError, UnicodeEncodeError):
        return "en"
    return code


def stem(word: str, language: str) -> str:
    """
    >>> stem("regulations", "en"), stem("regulated", "en")
    ('regul', 'regul')
    """
    try:
        return str(_stemmer(language).stemWord(word[:_LONGEST_WORD]))
    except UnicodeEncodeError:  # half a surrogate pair, as a hostile page may hold
        return word


@lru_cache(64)
def _stemmer(language: str) -> Stemmer.Stemmer:
    return extra("Stemmer", "keywords and example pages", "focus").Stemmer(language, 0)


_ANCHOR, _URL, _AROUND, _PAGE, _WAY = 0.8, 0.6, 0.4, 0.4, 0.4
_PASSED_ON = 0.7


class TopicOrder:
    """The order "topic": links that lead to pages about it come first.

    Five signs speak for a link, each with a share of its own, and each can speak alone: the chance
    that none of them is right is the product of the chances that each is wrong.

        0.8   the anchors' text names the topic
        0.6   the URL does
        0.4   the text around the anchor does
        0.4   the page with the link is about it
        0.4   that page, or the way to it, was promising: 0.7 of its own score is passed on

    The last is Shark-Search's (Hersovici et al. 1998): behind a relevant page, links stay promising
    for a few steps, so that what lies behind an overview that doesn't name the topic is found.

    Scores links by a topic.
    """

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def scores(self, page: PageSigns, relevance: float) -> dict[str, float]:
        """Of the page's links; ``relevance`` is the page's own."""
        way = max(relevance, _PASSED_ON * page.came_with)
        against = (1 - _PAGE * relevance) * (1 - _WAY * way)
        return {
            link.url: 1 - against * (1 - self._of_link(link, page.language)) for link in page.links
        }

    def score_url(self, url: str) -> float:
        """Of a URL that nothing more is known about."""
        return _URL * self._topic.match(url_text(url))

    def _of_link(self, link: LinkSigns, language: str) -> float:
        match = self._topic.match
        return 1 - (
            (1 - _ANCHOR * match(link.anchor, language))
            * (1 - _URL * match(url_text(link.url), language))
            * (1 - _AROUND * match(link.around, language))
        )


_PLACES = 1 << 18
_OCTAVES = 24


class LinksIn:
    """The order "links-in": pages that many important pages link to come first.

    On-line page importance (OPIC; Abiteboul, Preda, Cobena 2003). Seeds hold a cash of 1. A page
    that is fetched hands its cash out to its links in equal parts; a URL's importance is what it
    has been given so far. Nothing is iterated, and no graph is kept.

    Cash is kept by hash in two tables of fixed size, and of the two sums the lesser counts: URLs
    that share a place in one seldom share it in the other. After a restart the tables are empty; a
    page then hands out what its score says it had.

    A score is the logarithm: 1 for a cash of 1, 0 for 2^-24, the mean share of one of sixteen
    million.

    Scores links by the cash of what they lead to; 4 MB.
    """

    def __init__(self) -> None:
        self._cash = (array("d", bytes(8 * _PLACES)), array("d", bytes(8 * _PLACES)))

    def scores(self, page: PageSigns, _: float = 0.0) -> dict[str, float]:
        """Hand out the page's cash; the scores that its links have by now."""
        if not page.links:
            return {}
        had = max(self._take(page.url), 2.0 ** ((page.came_with - 1) * _OCTAVES))
        share = had / len(page.links)
        return {link.url: _score(self._give(link.url, share)) for link in page.links}

    def score_url(self, url: str) -> float:
        """Of a URL that nothing more is known about."""
        first, second = _places(url)
        return _score(min(self._cash[0][first], self._cash[1][second]))

    def _give(self, url: str, share: float) -> float:
        first, second = _places(url)
        one, other = self._cash
        one[first] += share
        other[second] += share
        return min(one[first], other[second])

    def _take(self, url: str) -> float:
        first, second = _places(url)
        one, other = self._cash
        had = min(one[first], other[second])
        one[first] -= had
        other[second] -= had
        return had


def _places(url: str) -> tuple[int, int]:
    key = xxh3_64_intdigest(url.encode())
    return key % _PLACES, (key >> 32) % _PLACES


def _score(cash: float) -> float:
    """
    >>> _score(1.0), _score(2.0**-12), _score(0.0)
    (1.0, 0.5, 0.0)
    """
    return min(max(1 + math.log2(cash) / _OCTAVES, 0.0), 1.0) if cash > 0 else 0.0
