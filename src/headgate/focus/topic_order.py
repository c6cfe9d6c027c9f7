"""The order "topic": links that lead to pages about it come first.

Five signs speak for a link, each with a share of its own, and each can speak alone: the chance that
none of them is right is the product of the chances that each is wrong.

    0.8   the anchors' text names the topic
    0.6   the URL does
    0.4   the text around the anchor does
    0.4   the page with the link is about it
    0.4   that page, or the way to it, was promising: 0.7 of its own score is passed on

The last is Shark-Search's (Hersovici et al. 1998): behind a relevant page, links stay promising for
a few steps, so that what lies behind an overview that doesn't name the topic is found.
"""

from __future__ import annotations

from headgate.focus.signs import LinkSigns, PageSigns
from headgate.focus.topic import Topic
from headgate.focus.words import url_text

__all__ = ["TopicOrder"]

_ANCHOR, _URL, _AROUND, _PAGE, _WAY = 0.8, 0.6, 0.4, 0.4, 0.4
_PASSED_ON = 0.7


class TopicOrder:
    """Scores links by a topic."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def scores(self, page: PageSigns, relevance: float) -> dict[str, float]:
        """Of the page's links; ``relevance`` is the page's own."""
        way = max(relevance, _PASSED_ON * page.came_with)
        against = (1 - _PAGE * relevance) * (1 - _WAY * way)
        return {
            link.url: 1 - against * (1 - self._of_link(link, page.language)) for link in page.links
        }

    def of_url(self, url: str) -> float:
        """Of a URL that nothing more is known about."""
        return _URL * self._topic.match(url_text(url))

    def _of_link(self, link: LinkSigns, language: str) -> float:
        match = self._topic.match
        return 1 - (
            (1 - _ANCHOR * match(link.anchor, language))
            * (1 - _URL * match(url_text(link.url), language))
            * (1 - _AROUND * match(link.around, language))
        )
