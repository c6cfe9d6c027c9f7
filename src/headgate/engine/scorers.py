"""What scores links and pages of a site: its topic, or a user's scorer, run in isolation."""

from __future__ import annotations

import asyncio
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from headgate.crawling.child_process import AsyncPipe, Child
from headgate.crawling.focused_crawl import FocusState, InPlace
from headgate.crawling.ports import Scorer
from headgate.engine.scoring_child import GROUP, Scored
from headgate.focus.signs import PageSigns
from headgate.focus.topic import LinksIn, Topic, TopicOrder
from headgate.model.errors import UserMistake
from headgate.model.site import BREADTH_FIRST, LINKS_IN, ORDERS, TOPIC, Site
from headgate.reading.charset import decoded
from headgate.reading.page_text import page_text

__all__ = ["OwnScorer", "check_focus", "focus_of"]


# Builds a site's focus: its topic from words and files, and its order.


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


def focus_of(site: Site) -> FocusState | None:
    """None: breadth-first, without a topic."""
    topic = _topic(site)
    if topic is None and site.url_order == BREADTH_FIRST:
        return None
    return FocusState(site.url_order, site.focus, topic, _scorer(site, topic))


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


_START_SECONDS = 30.0
_PAGE_SECONDS = 2.0
_MEAN_SECONDS = 0.25
_PAGES_LOOKED_AT = 20

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Scored).decode


def refuse_unknown_scorer(name: str) -> None:
    """Refuse a name that no installed package provides; ``module:function`` is checked later."""
    from importlib.metadata import entry_points  # here: few crawls need it

    if ":" in name or entry_points(group=GROUP, name=name):
        return
    installed = ", ".join(sorted(entry_points(group=GROUP).names)) or "none"
    raise UserMistake(
        f"{name!r} is no order and no installed scorer; scorers installed are: {installed}"
    )


class OwnScorer:
    """Runs a user's scorer in isolation: it may raise, hang or crash, and the crawl goes on.

    It runs in a process of its own. A thread could not be ended when it hangs, and one that
    computes for long, or crashes, takes the crawl's interpreter with it. A page costs some 0.2 ms
    more that way.

    - A link whose scoring raises, or gives no number, gets the neutral score and is counted.
    - A page whose links take longer than 2 s, or 20 pages that take more than a quarter of a second
      each, end it: a crawl that waits for its scorer keeps no deadline. So does a crash.

    Once it has ended, links get the neutral score and are fetched breadth-first. The report says
    why.

    The adapter of `headgate.crawling.ports.Scorer` over a process, started at the first page.
    """

    def __init__(self, name: str, page_seconds: float = _PAGE_SECONDS) -> None:
        self.faults = 0
        self.trouble = ""
        self._name = name
        self._page_seconds = page_seconds
        self._child: Child | None = None
        self._pipe: AsyncPipe | None = None
        self._ended = False
        self._turn = asyncio.Lock()
        self._latest: deque[float] = deque(maxlen=_PAGES_LOOKED_AT)

    async def scores(self, page: PageSigns, _: float) -> Mapping[str, float]:
        async with self._turn:
            if self._ended or not page.links:
                return {}
            try:
                return await self._ask(page)
            except TimeoutError:
                self._end(f"took more than {self._page_seconds:g} s for the links of {page.url}")
            except (OSError, EOFError, msgspec.MsgspecError):
                self._end("its process broke off")
            return {}

    def score_urls(self, urls: Sequence[str]) -> Mapping[str, float]:
        """None: a scorer rates links on pages."""
        del urls
        return {}

    def close(self) -> None:
        self._ended = True
        if self._pipe is not None:
            self._pipe.close()
        if self._child is not None:
            self._child.stop()

    async def _ask(self, page: PageSigns) -> Mapping[str, float]:
        if self._pipe is None:
            self._child = Child("headgate.engine.scoring_child", self._name)
            self._pipe = await AsyncPipe.over(self._child)
            problem = await self._trouble_of_loading(self._pipe)
            if problem:
                self._end(f"cannot be loaded: {problem}")
                return {}
        began = asyncio.get_running_loop().time()
        async with asyncio.timeout(self._page_seconds):
            self._pipe.send(_encode(page))
            answer = _decode(await self._pipe.receive())
        self._note(answer, asyncio.get_running_loop().time() - began)
        return answer.scores

    @staticmethod
    async def _trouble_of_loading(pipe: AsyncPipe) -> str:
        try:
            async with asyncio.timeout(_START_SECONDS):
                return (await pipe.receive()).decode()
        except TimeoutError:
            return f"not done after {_START_SECONDS:g} s"

    def _note(self, answer: Scored, seconds: float) -> None:
        self.faults += answer.faults
        if answer.fault and not self.trouble:
            self.trouble = f"could not score every link: {answer.fault}"
        self._latest.append(seconds)
        mean = sum(self._latest) / len(self._latest)
        if len(self._latest) == _PAGES_LOOKED_AT and mean > _MEAN_SECONDS:
            self._end(f"took {mean:.2g} s a page")

    def _end(self, problem: str) -> None:
        self.trouble = f"switched off: {problem}"
        self.close()
