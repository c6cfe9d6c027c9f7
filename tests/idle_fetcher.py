"""What a made-up fetcher has nothing to say of: rates, connections, bytes under way."""

from __future__ import annotations

from typing import ClassVar, Self

from headgate.bandwidth.server_tally import ServerTally
from headgate.model.fetch import Announced

__all__ = ["IdleFetcher"]


class IdleFetcher:
    """A `headgate.crawling.ports.Fetcher` but for `fetch`; its own meter, without a limit."""

    servers: ClassVar[dict[str, ServerTally]] = {}
    at_once: ClassVar[int] = 3
    """Connections to a site."""

    @property
    def meter(self) -> Self:
        return self

    def set_total(self, rate: float) -> None: ...
    def set_site(
        self, site: str, rate: float, most: float | None = None, bound: float | None = None
    ) -> None: ...
    def forget_site(self, site: str) -> None: ...

    def under_way(self, site: str) -> int:  # noqa: ARG002
        return 0

    def take_cut_off(self, site: str) -> int:  # noqa: ARG002
        return 0

    def announced(self, site: str) -> Announced:  # noqa: ARG002
        return Announced()

    def carried(self) -> int:
        return 0

    def connections(self, site: str, url: str, expected_bytes: float) -> int:  # noqa: ARG002
        return self.at_once
