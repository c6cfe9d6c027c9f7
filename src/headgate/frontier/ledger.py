"""The ledger: how many URLs came in, how many came to which end.

Every accepted URL is entered once when it comes in and once when it ends. Those that end without
a fetch are counted by dispatch, those refused at the gate by admission; `Tally` shows all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from headgate.frontier.commands import Record
from headgate.frontier.journal import JournalEntry, Outcome

__all__ = ["Ledger", "Tally"]


@dataclass(frozen=True, slots=True)
class Tally:
    """Where all URLs of a site run stand. accepted = to do + in flight + outcomes + dropped."""

    seen: int
    accepted: int
    to_do: int
    in_flight: int
    outcomes: Mapping[Outcome, int]
    dropped: Mapping[str, int]
    """Accepted, but ended without a fetch, by reason."""
    refused: Mapping[str, int]
    """Not accepted, by reason."""
    given_up: Mapping[str, str]
    """Hosts, with the reason."""


class Ledger:
    """Filled by the frontier and by landings."""

    def __init__(self) -> None:
        self.accepted = 0
        self.outcomes: Counter[Outcome] = Counter()
        self.given_up: dict[str, str] = {}

    def settle(self, entry: JournalEntry) -> Record:
        """Enter a URL's end."""
        self.outcomes[entry.outcome] += 1
        return Record(entry)
