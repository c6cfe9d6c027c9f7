"""What is known of the pages of a collection, and which of them to look at next.

The board holds a row per page in arrays: when it was asked last, what its looks leave possible of
its rate, its size, whether its server can say "not modified". `next_visit` is the page worth most
per byte and those of its site that ride along (`visit_choice`); `looked` takes in what a look
found.

A look is expected to cost its request, and the page's bytes where it changed or the server has no
validator for it. Per page 400 bytes; `next_visit` is O(pages · rates), `looked` O(rates).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from headgate.model.keeping import Staleness
from headgate.recrawl.arrays import BoolArray, FloatArray, as_floats
from headgate.recrawl.look_value import look_value
from headgate.recrawl.rate_posterior import (
    FORGETTING,
    RATES,
    RatePrior,
    look_likelihood,
    posterior,
)
from headgate.recrawl.staleness import probability_changed
from headgate.recrawl.visit_choice import Visit, choose_visit

__all__ = ["Look", "LookCosts", "PageBoard"]

_PRIOR_LOOKS = 200
"""After so many looks the collection's prior is reckoned anew."""


@dataclass(frozen=True, slots=True)
class LookCosts:
    """Bytes on the line beside a page's own."""

    connection: float = 6_000.0
    request: float = 600.0


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a page found."""

    page: int
    time: float
    changed: bool
    size: float
    """Bytes of a whole answer."""


@dataclass(slots=True)
class PageBoard:
    """Pages by number. Times are days since any moment, the same for all."""

    sites: npt.NDArray[np.int_]
    importances: FloatArray
    sizes: FloatArray
    """Bytes of a whole answer, as of the last look."""
    validators: BoolArray
    """Whether an unchanged page is answered without its bytes."""
    asked: FloatArray
    costs: LookCosts = field(default_factory=LookCosts)
    staleness: Staleness = Staleness.AGE
    shortest_gap: float = 0.25
    """No page is asked again sooner."""
    _likelihood: FloatArray = field(init=False)
    _rates: FloatArray = field(init=False)
    """Probabilities of the rates, a row per page."""
    _prior: FloatArray = field(init=False)
    _looks: int = field(default=0, init=False)
    _valued_at: float = field(default=-np.inf, init=False)
    """When values and costs of looks were reckoned; several visits may leave at one moment."""
    _values: FloatArray = field(init=False)
    _costs: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self._likelihood = np.zeros((len(self.sites), len(RATES)))
        self._prior = RatePrior.usual().probabilities()
        self._rates = posterior(self._prior, self._likelihood)

    def next_visit(self, now: float) -> Visit | None:
        """The visit worth most per byte; None: no page may be asked."""
        if now != self._valued_at:
            self._value_all(now)
        return choose_visit(self._values, self._costs, self.sites, self.costs.connection)

    def looked(self, look: Look) -> None:
        page = look.page
        seen = look_likelihood(look.time - float(self.asked[page]), look.changed)[0]
        self._likelihood[page] = FORGETTING * self._likelihood[page] + seen
        self._rates[page] = posterior(self._prior, self._likelihood[page])
        self.asked[page], self.sizes[page] = look.time, look.size
        if look.time == self._valued_at:
            self._values[page] = 0.0
        self._looks += 1
        if self._looks % _PRIOR_LOOKS == 0:
            self._prior = RatePrior.of(self._rates).probabilities()
            self._rates = posterior(self._prior, self._likelihood)
            self._valued_at = -np.inf

    def probability_changed(self, now: float) -> FloatArray:
        """Of each page, that it has changed since it was asked."""
        changed = probability_changed(RATES, (now - self.asked)[:, None])
        return _expected(self._rates, changed)

    def expected_costs(self, now: float) -> FloatArray:
        """Bytes of a look at each page on a connection that is open."""
        sent = np.where(self.validators, self.probability_changed(now), 1.0)
        return self.costs.request + sent * self.sizes

    def _value_all(self, now: float) -> None:
        since = now - self.asked
        values = look_value(self.staleness, RATES, since[:, None])
        self._values = self.importances * _expected(self._rates, values)
        self._values[since < self.shortest_gap - 1e-9] = 0.0
        self._costs = self.expected_costs(now)
        self._valued_at = now


def _expected(probabilities: FloatArray, values: FloatArray) -> FloatArray:
    """Of each row."""
    return as_floats(np.einsum("pk,pk->p", probabilities, values))
