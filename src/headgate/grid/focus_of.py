"""Builds a site's focus: its topic from words and files, and its order."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from headgate.crawling.focusing import Focusing, InPlace
from headgate.crawling.ports import Scorer
from headgate.focus.links_in import LinksIn
from headgate.focus.topic import Topic
from headgate.focus.topic_order import TopicOrder
from headgate.grid.own_scorer import OwnScorer, refuse_unknown_scorer
from headgate.model.errors import UserMistake
from headgate.model.site import BREADTH_FIRST, LINKS_IN, ORDERS, TOPIC, Site
from headgate.reading.charset import decoded
from headgate.reading.page_words import page_text

__all__ = ["check_focus", "focus_of"]

_MOST_BYTES = 1_000_000


def check_focus(site: Site) -> None:
    """Refuse a focus that cannot work, before anything is crawled."""
    if site.url_order not in ORDERS:
        refuse_unknown_scorer(site.url_order)
    topic = _topic(site)
    if topic is None and site.url_order == TOPIC:
        raise UserMistake(f'site {site.name!r}: the order "topic" needs --focus or --focus-pages')
    if topic is not None and topic.empty:
        raise UserMistake(f"site {site.name!r}: there is no word in its focus to go by")


def focus_of(site: Site) -> Focusing | None:
    """None: breadth-first, without a topic."""
    topic = _topic(site)
    if topic is None and site.url_order == BREADTH_FIRST:
        return None
    return Focusing(site.url_order, site.focus, topic, _scorer(site, topic))


def _scorer(site: Site, topic: Topic | None) -> Scorer | None:
    order = site.url_order
    if order == TOPIC and topic is not None:
        return InPlace(TopicOrder(topic))
    if order == LINKS_IN:
        return InPlace(LinksIn())
    return None if order == BREADTH_FIRST else OwnScorer(order)


def _topic(site: Site) -> Topic | None:
    if not site.has_topic:
        return None
    return Topic(site.focus, [_example(name) for name in site.focus_pages])


def _example(name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            body = file.read(_MOST_BYTES)
    except OSError as error:
        raise UserMistake(f"cannot read the example page {name}: {error.strerror}") from None
    if b"\0" in body and not body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise UserMistake(f"the example page {name} is neither HTML nor text; name one that is")
    return page_text(decoded(body, "").text)
