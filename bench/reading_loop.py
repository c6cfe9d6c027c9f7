"""A loop of virtual time in which pages are handed over to other processes as they really are.

Large pages go to the child process as pickles, ordinary ones to the second reader as MessagePack.
In virtual time there is no other process, so here each side of the hand-over is done in turn.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

import msgspec

from headgate.crawling.page_reader import PageReader, ReadPage
from headgate.crawling.second_reader import SecondReader
from headgate.crawling.second_reader_child import ReadAnswer, ReadQuestion
from headgate.model.fetch import Fetched
from headgate.testing.virtual_time import VirtualLoop

__all__ = ["PassingReader", "ReadingLoop"]

_Found = TypeVar("_Found")
_Arguments = TypeVarTuple("_Arguments")
_WORTH_BYTES = 400
"""A smaller page than in a real crawl: pages here are small."""


class ReadingLoop(VirtualLoop):
    """What is done in another process gets a copy of its arguments and returns a copy."""

    def run_in_executor(
        self,
        executor: Executor | None,
        func: Callable[[*_Arguments], _Found],
        *args: *_Arguments,
    ) -> asyncio.Future[_Found]:
        if executor is None or isinstance(executor, ThreadPoolExecutor):
            return super().run_in_executor(executor, func, *args)
        call = pickle.dumps((func, args), pickle.HIGHEST_PROTOCOL)

        def there() -> _Found:
            func, args = pickle.loads(call)
            found: _Found = pickle.loads(pickle.dumps(func(*args), pickle.HIGHEST_PROTOCOL))
            return found

        return super().run_in_executor(None, there)


class PassingReader(SecondReader):
    """Every page of some size goes to the second process and back."""

    async def read(self, reader: PageReader, fetched: Fetched, body: bytes) -> ReadPage:
        if len(body) < _WORTH_BYTES or reader.with_words:
            return reader.read(fetched, body)
        question = ReadQuestion(
            reader.agent, fetched.url, fetched.status, fetched.headers, reader.ignore
        )
        there = msgspec.msgpack.decode(msgspec.msgpack.encode(question), type=ReadQuestion)
        answer = ReadAnswer.from_page(there.read(bytes(body)))
        return msgspec.msgpack.decode(msgspec.msgpack.encode(answer), type=ReadAnswer).page()
