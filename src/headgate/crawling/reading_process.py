"""Reads large pages in a process of its own, so that the event loop is not blocked.

A page of some kilobytes is read faster than another process wakes up. A page or sitemap of
megabytes can take a second, because of its size or because somebody made it so, during which no
other site would get a byte. A thread would not help, since most of reading holds the interpreter
lock. So large pages are read in a child process, one at a time, so that only one of them is held
decoded. The child is started for the first of them and ends with its parent. Sites take turns: a
page waits for at most one page of each other site.

Work goes through the event loop's ``run_in_executor``, like all work beside the loop: a loop of
virtual time does it itself.

A child that dies, or does not answer for a minute, is replaced, and its page is tried once more.
Then it is `Unreadable`: what a stranger made must not end the crawls of others.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from headgate.crawling.child_process import Child
from headgate.model.errors import WorldFault
from headgate.model.fetch import Fetched
from headgate.reading.content_coding import decode_content

__all__ = ["SiteTurns", "Unreadable", "read_aside", "read_response", "small_body"]

_LARGE_BYTES = 128_000
"""From here on reading may take longer than a few milliseconds."""

_MOST_SECONDS = 60.0
_TRIES = 2
_Arguments = ParamSpec("_Arguments")
_Found = TypeVar("_Found")
_Thing = TypeVar("_Thing")
_Work = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class Unreadable(WorldFault):
    """The process that reads large pages broke off twice over one: there is no telling whether the
    page is to blame, or the machine's memory is short."""


async def read_response(
    site: str, read: Callable[[Fetched, bytes | None], _Found], fetched: Fetched
) -> _Found:
    """The result of ``read`` on a site's response, here or in the child process, by its size.

    ``read`` gets the decoded body; in the child it gets None and has to decode it. Raises
    `Unreadable`.
    """
    body = small_body(fetched)
    if body is None:
        return await read_aside(site, read, fetched, None)
    return read(fetched, body)


def small_body(fetched: Fetched) -> bytes | None:
    """The decoded body; None: it is large, and to be read in the child process."""
    if len(fetched.payload) >= _LARGE_BYTES:
        return None
    if not fetched.coding:
        return fetched.payload
    body = decode_content(fetched.payload, fetched.coding, _LARGE_BYTES).data
    return body if len(body) < _LARGE_BYTES else None


async def read_aside(
    site: str,
    read: Callable[_Arguments, _Found],
    *args: _Arguments.args,
    **kwargs: _Arguments.kwargs,
) -> _Found:
    """The result of ``read`` in the child; its arguments are pickled. Raises `Unreadable`."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_OfSite(site), partial(read, *args, **kwargs))


class SiteTurns(Generic[_Thing]):
    """A queue between threads in which sites take turns; the items of a site keep their order.

    >>> turns: SiteTurns[int] = SiteTurns()
    >>> for site, thing in [("a", 1), ("a", 2), ("a", 3), ("b", 4)]:
    ...     turns.put(site, thing)
    >>> [turns.get() for _ in range(4)]
    [1, 4, 2, 3]
    """

    def __init__(self) -> None:
        self._things: dict[str, deque[_Thing]] = {}
        """By site, without empty ones; the site whose turn it is comes first."""
        self._changed = threading.Condition()

    def put(self, site: str, thing: _Thing) -> None:
        with self._changed:
            self._things.setdefault(site, deque()).append(thing)
            self._changed.notify()

    def get(self) -> _Thing:
        """The next item; waits until there is one."""
        with self._changed:
            while not self._things:
                self._changed.wait()
            site = next(iter(self._things))
            waiting = self._things.pop(site)
            thing = waiting.popleft()
            if waiting:
                self._things[site] = waiting
            return thing


class _Aside:
    """Passes work to the child process, from a daemon thread that waits for its answers."""

    def __init__(self) -> None:
        self._work: SiteTurns[_Work] = SiteTurns()
        self._thread: threading.Thread | None = None
        self._child: Child | None = None

    def submit(self, site: str, work: _Work) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="reading", daemon=True)
            self._thread.start()
        self._work.put(site, work)

    def end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.stop()

    def _run(self) -> None:
        while True:
            future, *call = self._work.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                well, answer = self._ask(call)
            except Exception as error:
                well, answer = False, error
            if well:
                future.set_result(answer)
            else:
                future.set_exception(answer)

    def _ask(self, call: list[Any]) -> tuple[bool, Any]:
        """Whether it succeeded, and the result or the error."""
        question = pickle.dumps(call, pickle.HIGHEST_PROTOCOL)
        for _ in range(_TRIES):
            try:
                child = self._child = self._child or _started()
                child.send(question, _MOST_SECONDS)
                answer: tuple[bool, Any] = pickle.loads(child.receive(_MOST_SECONDS))
            except (OSError, EOFError):  # or the machine has no process or no memory left
                self.end_child()
            else:
                return answer
        raise Unreadable("the process that reads large pages broke off twice; memory may be short")


def _started() -> Child:
    return Child("headgate.crawling.reading_child")


_ASIDE = _Aside()


class _OfSite(Executor):
    """An executor for the work of one site."""

    def __init__(self, site: str) -> None:
        self._site = site

    def submit(
        self,
        fn: Callable[_Arguments, _Found],
        /,
        *args: _Arguments.args,
        **kwargs: _Arguments.kwargs,
    ) -> Future[_Found]:
        future: Future[_Found] = Future()
        _ASIDE.submit(self._site, (future, fn, args, kwargs))
        return future
