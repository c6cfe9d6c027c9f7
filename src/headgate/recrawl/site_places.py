"""Maps sites to rows of the board's arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headgate.recrawl.site_rows import SiteRows

__all__ = ["SitePlaces"]


@dataclass(slots=True)
class SitePlaces:
    """Rows of dropped sites are reused."""

    rows: SiteRows = field(default_factory=lambda: SiteRows.of(64))
    _places: dict[str, int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    """By place."""
    _free: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, site: str) -> bool:
        return site in self._places

    def __getitem__(self, site: str) -> int:
        return self._places[site]

    def name(self, place: int) -> str:
        return self._names[place]

    def at_risk(self, now: float) -> list[tuple[str, float]]:
        """Sites whose promise is urgent, with the seconds until it is broken, least first."""
        rows = self.rows
        left = rows.oldest + rows.promised - now
        pressing = np.flatnonzero(rows.there & (rows.presses_at() <= now))
        order = pressing[np.argsort(left[pressing], kind="stable")]
        return [(self._names[place], float(left[place])) for place in order.tolist()]

    def of(self, site: str) -> int:
        """The row of a site; a new one if it has none."""
        if site in self._places:
            return self._places[site]
        if self._free:
            place = self._free.pop()
            self._names[place] = site
        else:
            place = len(self._names)
            self._names.append(site)
            if place == len(self.rows):
                self.rows = self.rows.doubled()
        self._places[site] = place
        return place

    def drop(self, site: str) -> None:
        place = self._places.pop(site)
        self.rows.clear(place)
        self._free.append(place)
