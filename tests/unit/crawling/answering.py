"""A site run over a fetcher whose answers are written down, with everything else in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from tests.idle_fetcher import IdleFetcher

from headgate.crawling.page_reader import PageReader
from headgate.crawling.progress import Progress
from headgate.crawling.site_run import SiteRun, Tools
from headgate.engine.clock import SystemClock
from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.frontier import Frontier, FrontierRules
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.retries import RetryRules
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_queue import MemorySpill
from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.testing.memory_store import MemoryKnown, MemoryStore, Shelf

__all__ = ["RULES", "Answer", "Answers", "crawled"]

RULES = FrontierRules(
    TrapRules(this_year=2026),
    DispatchRules(pace=PolitenessRules(first_failure_pause=0.0, first_busy_pause=0.0)),
    RetryRules(first_wait=0.0),
)
Answer = tuple[int, str, int] | tuple[int, str, int, str] | int | None
"""(status, body, wire bytes, how it was truncated if it was), or the wire bytes of a connection
that broke off before there was an answer. None: it does not come any more, and the site is stopped
as soon as nothing else is under way."""


@dataclass
class Answers(IdleFetcher):
    """A fetcher that gives each URL's answers in their order, the last again and again."""

    by_url: dict[str, list[Answer]]
    asked: list[str] = field(default_factory=list)
    came: int = 0
    cut_off: int = 0
    """Wire bytes of what did not come to its end."""
    silent: asyncio.Event = field(default_factory=asyncio.Event)
    """Somebody waits for what does not come."""
    at_once = 1

    def take_cut_off(self, site: str) -> int:  # noqa: ARG002
        return self.cut_off

    def carried(self) -> int:
        return self.came

    async def fetch(self, request: FetchRequest) -> Fetched | FetchFailure:
        await asyncio.sleep(0)
        self.asked.append(request.url)
        answers = self.by_url.get(request.url.removeprefix("http://site.test"), [(404, "", 10)])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer is None:
            self.silent.set()
            await asyncio.sleep(60)
            raise TimeoutError
        if isinstance(answer, int):
            self.came += answer
            kind = FailureKind.CLOSED
            return FetchFailure(
                request.url, kind, detail="", wall_time=0.0, seconds=0.0, wire_bytes=answer
            )
        status, body, wire_bytes, *truncated = answer
        self.came += wire_bytes
        headers = (("content-type", "text/html"),)
        head = b"HTTP/1.1 200 OK\r\n\r\n"
        return Fetched(
            request.url,
            status,
            headers=headers,
            request_head=head,
            response_head=head,
            payload=body.encode(),
            address="192.0.2.1",
            wall_time=0.0,
            first_byte_seconds=0.0,
            seconds=0.0,
            wire_bytes=wire_bytes,
            truncated="".join(truncated),
        )


def crawled(web: Answers, shelf: Shelf, rules: FrontierRules = RULES, **site: object) -> Progress:
    async def crawl() -> Progress:
        values = {"seeds": ("http://site.test/",), **site}
        wanted = Site("site", **values)  # type: ignore[arg-type]
        frontier = Frontier(Scope.for_site(wanted), MemorySpill(), rules)
        store = MemoryStore(shelf)
        tools = Tools(
            frontier,
            web,
            store=store,
            known=MemoryKnown(),
            reader=PageReader(),
            clock=SystemClock(),
        )
        run = SiteRun(Task(wanted), tools)

        async def interrupt() -> None:
            await web.silent.wait()
            await asyncio.sleep(0.05)
            run.stop("interrupted")

        async with asyncio.timeout(30):
            interrupting = asyncio.create_task(interrupt())
            progress = await run.run()
            interrupting.cancel()
            return progress

    return asyncio.run(crawl())
