"""The frontier of one site run: events in, commands out.

`Frontier.handle` takes one event and answers with commands, to be performed in their order. Each
Fetch is answered by exactly one of PageFetched, Redirected, ErrorStatus and FetchFailed; each
LearnRobots by RobotsLearned. `Wait` asks for a Tick at its moment.

Durability. Every change that a restart needs is in a Record. `replay` builds the state again from
the recorded entries; whatever was to do, waiting or in flight is then to do.

Invariant, with `check` as its code: accepted = settled + dropped + to do + on the bench + in
flight, and every accepted URL is in URLseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headgate.frontier.admission import Admission
from headgate.frontier.commands import Command, Record
from headgate.frontier.dispatch import Dispatch
from headgate.frontier.events import Event, Found, RobotsLearned, Seeds, Slots, Stop, Tick
from headgate.frontier.journal import JournalEntry, Outcome
from headgate.frontier.landing import Landing
from headgate.frontier.ledger import Ledger, Tally
from headgate.frontier.page_seen import PageSeen
from headgate.frontier.ports import Spill
from headgate.frontier.rules import FrontierRules
from headgate.frontier.scope import Scope
from headgate.frontier.scored_todo import Scores

__all__ = ["Frontier"]

_SEED_SCORE = 1.0


class Frontier:
    """The life of all URLs of one site run."""

    def __init__(self, scope: Scope, spill: Spill, rules: FrontierRules) -> None:
        self._admission = Admission(scope, rules.traps)
        self._dispatch = Dispatch(spill, rules.dispatch, strict_levels=scope.depth is not None)
        self._ledger = Ledger()
        self._pages = PageSeen()
        self._landing = Landing(rules, self._admission, self._dispatch, self._ledger, self._pages)

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take in an event at ``now``, seconds of any clock that does not go back."""
        commands: list[Command] = []
        match event:
            case Seeds():
                found = self._admission.seeds(event.urls)
                commands = self._bring(found, 0, dict.fromkeys(found, _SEED_SCORE))
            case Found():
                if self._admission.scope.has(event.depth):
                    found = self._admission.links(event.urls)
                    commands = self._bring(found, event.depth, event.scores)
            case RobotsLearned():
                self._dispatch.learn(event.origin, event.allows, event.crawl_delay)
            case Slots():
                self._dispatch.slots = event.count
            case Stop():
                self._dispatch.stopping = event.reason
            case Tick():
                pass
            case _:
                commands = self._landing.land(event, now)
        return commands + self._dispatch.commands(now)

    def replay(self, read: Callable[[], Iterable[JournalEntry]]) -> None:
        """Become the frontier that emitted these entries; before any event, over an empty spill.

        ``read`` is called twice: once for what is settled, then for what was found.
        """
        self._admission.recall_settled(self._settled(read()))
        for entry in read():
            found = self._admission.recall(entry.found, entry.depth) if entry.found else []
            self._dispatch.recall(found, entry)
            self._ledger.accepted += len(found)

    @property
    def tally(self) -> Tally:
        """Where all URLs stand."""
        return Tally(
            seen=len(self._admission.seen),
            accepted=self._ledger.accepted,
            to_do=len(self._dispatch) - self._dispatch.in_flight,
            in_flight=self._dispatch.in_flight,
            outcomes=dict(self._ledger.outcomes),
            dropped=dict(self._dispatch.dropped),
            refused=dict(self._admission.refused),
            given_up=dict(self._ledger.given_up),
        )

    def check(self) -> None:
        """Every invariant of the frontier; dear, for tests."""
        self._admission.seen.check()
        self._dispatch.check()
        ended = self._ledger.outcomes.total() + self._dispatch.dropped.total()
        assert self._ledger.accepted == ended + len(self._dispatch)
        assert self._ledger.accepted <= len(self._admission.seen)

    def _bring(self, found: list[str], depth: int, scores: Scores | None) -> list[Command]:
        if not found:
            return []
        placed = self._dispatch.accept(found, depth, scores)
        self._ledger.accepted += len(found)
        entry = JournalEntry(
            Outcome.FOUND,
            found=found,
            depth=depth,
            levels=placed.levels,
            raised=placed.raised,
            raised_levels=placed.raised_levels,
        )
        return [Record(entry)]

    def _settled(self, entries: Iterable[JournalEntry]) -> Iterator[str]:
        for entry in entries:
            if entry.outcome is Outcome.FOUND:
                continue
            self._ledger.accepted += 1
            self._ledger.outcomes[entry.outcome] += 1
            if entry.digest:
                self._pages.meet(entry.digest)
            yield entry.url
