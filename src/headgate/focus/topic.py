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
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from headgate.focus.words import known_language, stem, words

__all__ = ["RELEVANT", "Topic"]

RELEVANT = 0.5
"""From this relevance on a page counts as one about the topic."""

_SATURATION = 2.0
_LENGTH_WEIGHT = 0.5
_EXAMPLE_WORDS = 30
_SCRAP_WORDS = 3
_REMEMBERED_SCRAPS = 8_192
_REMEMBERED_WORDS = 200_000
_LONGEST_SCRAP = 2_000


class Topic:
    """Learns from each page it is asked about."""

    def __init__(self, keywords: str, examples: Sequence[str] = ()) -> None:
        self._weights = _weights(keywords, examples)
        """By word, as it is written."""
        self._languages = {"en": _Stems(self._weights, "en")}
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
            self._languages[known] = _Stems(self._weights, known)
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

    def __init__(self, weights: Mapping[str, float], language: str) -> None:
        self._language = language
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
        if len(self._forms) >= _REMEMBERED_WORDS:
            self._forms.clear()
        own = stem(word, self._language)
        self._forms[word] = own if own in self.weights else ""
        return self._forms[word]


def _weights(keywords: str, examples: Sequence[str]) -> dict[str, float]:
    weights = dict.fromkeys(words(keywords), 1.0)
    if examples:
        counts = Counter(word for text in examples for word in words(text) if not word.isdigit())
        frequent = counts.most_common(_EXAMPLE_WORDS)
        for word, count in frequent:
            weights.setdefault(word, count / frequent[0][1])
    return weights
