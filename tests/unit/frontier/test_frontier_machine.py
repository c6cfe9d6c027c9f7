"""The frontier against a crawl of a small web by the book, with crashes in between.

Hypothesis draws a web (pages, links, redirects, copies, robots rules), then any order of endings,
failures, waits, changed slots and crashes, with a focus and without. A crash throws the frontier
away and replays the journal, of which the last entries may have been lost. Whatever happens, each
URL is settled once, and when the dust has settled the pages crawled are the link closure of the
seed.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace
from tests.unit.frontier.driving import HOME, rules

from headgate.frontier.events import (
    Done,
    ErrorStatus,
    Event,
    Fetch,
    FetchFailed,
    GiveUp,
    JournalEntry,
    LearnRobots,
    PageFetched,
    Record,
    Redirected,
    RobotsLearned,
    Seeds,
    Slots,
    Tick,
    Wait,
)
from headgate.frontier.frontier import Frontier
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.retries import RetryRules
from headgate.frontier.scope import Scope
from headgate.frontier.url_queue import MemorySpill
from headgate.model.fetch import FailureKind

SIZE = 40
HOSTS = ("http://a.org", "https://a.org", "http://b.org")
SEED = HOSTS[0] + "/p0"

# Nothing is given up here: a failing host would end pages that the closure has.
PATIENT = replace(
    rules(slots=3, memory=16, robots=True, pace=PolitenessRules(connections=2, delay=0.1)),
    retries=RetryRules(tries=10**6, busy_tries=10**6),
    copies_followed=10**6,
)
FOCUSED = replace(PATIENT, dispatch=replace(PATIENT.dispatch, scored=True))


def address(page: int) -> str:
    return f"{HOSTS[page % 3]}/p{page}"


def number(url: str) -> int:
    return int(url.rpartition("p")[2])


_page = st.integers(0, SIZE - 1)
_webs = st.lists(st.lists(_page, max_size=6, unique=True), min_size=SIZE, max_size=SIZE)


class FrontierMachine(RuleBasedStateMachine):
    @initialize(
        web=_webs,
        redirects=st.dictionaries(_page, _page, max_size=5),
        forbidden=st.frozensets(_page, max_size=3),
        depth=st.none() | st.integers(0, 4),
        focus=st.booleans(),
    )
    def start(
        self,
        web: list[list[int]],
        redirects: dict[int, int],
        forbidden: frozenset[int],
        depth: int | None,
        focus: bool,
    ) -> None:
        self.web = web
        self.focus = focus
        self.redirects = {page: target for page, target in redirects.items() if page != target}
        self.forbidden = forbidden
        self.depth = depth
        self.journal: list[JournalEntry] = []
        self.now = 0.0
        self.begin()

    def begin(self) -> None:
        scope = Scope([f"{host}/" for host in HOSTS], depth=self.depth)
        self.frontier = Frontier(scope, MemorySpill(), FOCUSED if self.focus else PATIENT)
        self.frontier.replay(lambda: self.journal)
        self.frontier.check()
        self.flights: dict[str, Fetch] = {}
        self.robots: list[str] = []
        self.done = False
        self.wait: float | None = None
        self.send(Seeds([SEED]))

    def send(self, event: Event) -> None:
        self.wait = None
        for command in self.frontier.handle(event, self.now):
            assert not self.done
            match command:
                case Fetch():
                    assert command.url not in self.flights
                    assert command.url not in [entry.url for entry in self.journal]
                    assert number(command.url) not in self.forbidden
                    self.flights[command.url] = command
                case LearnRobots():
                    assert command.origin not in self.robots
                    self.robots.append(command.origin)
                case Record():
                    self.journal.append(command.entry)
                case Wait():
                    self.wait = command.until
                case GiveUp():
                    raise AssertionError(command)
                case Done():
                    self.done = True

    def answer(self, url: str) -> Event:
        page = number(url)
        if page in self.redirects:
            return Redirected(url, address(self.redirects[page]))
        links = [address(target) for target in self.web[page]]
        scores = {link: (7 * page + 3 * number(link)) % 16 / 15 for link in links}
        return PageFetched(url, links, bytes([page // 4] * 16), scores)

    def land(self, choice: int, event: type[Event] | None) -> None:
        url = sorted(self.flights)[choice % len(self.flights)]
        del self.flights[url]
        if event is FetchFailed:
            self.send(FetchFailed(url, FailureKind.STALLED))
        elif event is ErrorStatus:
            self.send(ErrorStatus(url, 503, retry_after=1.0))
        else:
            self.send(self.answer(url))

    @precondition(lambda self: self.flights)
    @rule(choice=_page)
    def page_comes(self, choice: int) -> None:
        self.land(choice, None)

    @precondition(lambda self: self.flights)
    @rule(choice=_page)
    def two_fetches_end_badly(self, choice: int) -> None:
        self.land(choice, FetchFailed)
        self.now += 1.0
        if self.flights:
            self.land(choice, ErrorStatus)
        self.page_after_trouble()

    def page_after_trouble(self) -> None:
        """Good news in between, so that no host is given up for troubles in a row."""
        self.now += 10.0
        self.send(Tick())
        for url in list(self.flights):
            del self.flights[url]
            self.send(self.answer(url))

    @precondition(lambda self: self.robots)
    @rule()
    def robots_come(self) -> None:
        origin = self.robots.pop(0)
        self.send(RobotsLearned(origin, lambda url: number(url) not in self.forbidden, 0.3))

    @rule(seconds=st.floats(0, 5))
    def time_passes(self, seconds: float) -> None:
        if not self.done:
            self.now += seconds
            self.send(Tick())

    @precondition(lambda self: not self.done)
    @rule(count=st.integers(0, 6))
    def slots_change(self, count: int) -> None:
        self.send(Slots(count))

    @rule(lost=st.integers(0, 3))
    def crash(self, lost: int) -> None:
        del self.journal[max(0, len(self.journal) - lost) :]
        self.begin()

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "frontier"):
            self.frontier.check()
            settled = Counter(entry.url for entry in self.journal if entry.url)
            assert max(settled.values(), default=0) <= 1
            assert self.frontier.tally.in_flight == len(self.flights)

    def teardown(self) -> None:
        if hasattr(self, "frontier"):
            self.finish()
            crawled = {number(entry.url) for entry in self.journal if entry.url}
            assert self.closure(redirects_first=False) <= crawled
            assert crawled <= self.closure(redirects_first=True)
            self.frontier.check()

    def finish(self) -> None:
        if not self.done:
            self.send(Slots(3))
        for _ in range(20 * SIZE):
            if self.done:
                return
            if self.robots:
                self.robots_come()
            elif self.flights:
                self.land(0, None)
            else:
                assert self.wait is not None, "stuck"
                self.now = self.wait
                self.send(Tick())
        raise AssertionError("no end")

    def closure(self, *, redirects_first: bool) -> set[int]:
        """Breadth first, by the book: a redirect's target is on the level of its source.

        Where a page of the level links to that target, too, the first to come decides its depth.
        """
        met, level, depth = {0}, [0], 0
        crawled: set[int] = set()
        while level:
            below: list[int] = []
            while level:
                page = self.next_of(level, redirects_first=redirects_first)
                if page in self.forbidden:
                    continue
                crawled.add(page)
                if page in self.redirects:
                    targets, onto = [self.redirects[page]], level
                else:
                    targets, onto = self.web[page], below
                    if depth == self.depth:
                        continue
                for target in targets:
                    if target not in met:
                        met.add(target)
                        onto.append(target)
            level, depth = below, depth + 1
        return crawled

    def next_of(self, level: list[int], *, redirects_first: bool) -> int:
        wanted = [page for page in level if (page in self.redirects) == redirects_first]
        page = (wanted or level)[0]
        level.remove(page)
        return page


TestFrontier = FrontierMachine.TestCase
TestFrontier.settings = settings(max_examples=60, deadline=None)


def test_the_web_of_this_test_is_what_it_says() -> None:
    assert address(0) == SEED
    assert HOME.startswith(HOSTS[0])
    assert {number(address(page)) for page in range(SIZE)} == set(range(SIZE))
