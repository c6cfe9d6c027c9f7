"""The predefined queue: which documents, how long, from servers how fast.

The paper names neither, so this world is ours: sixty servers with a median of 25 KB/s, a few of
them faster than the whole limit of 140 KB/s, round trips from 20 to 200 ms, documents with a median
of 10 KB and a long tail. A seed makes it; every form of control gets the same one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.bandwidth.admission_control import Download

__all__ = ["LIMIT", "Document", "Server", "World", "make_world"]

LIMIT = 140_000.0
"""L of the paper's experiments, bytes per second."""

_SERVERS = 60
_DOCUMENTS = 4000


@dataclass(frozen=True, slots=True)
class Server:
    bytes_per_second: float
    rtt_seconds: float


@dataclass(frozen=True, slots=True)
class Document:
    server: int
    bytes: int
    score: float


@dataclass(frozen=True, slots=True)
class World:
    servers: list[Server]
    documents: list[Document]
    """Best score first."""

    def downloads(self) -> list[Download]:
        """The queue; keys are places in ``documents``, servers are places in ``servers``."""
        return [
            Download(str(place), str(document.server), document.score)
            for place, document in enumerate(self.documents)
        ]


def make_world(seed: int) -> World:
    """Speeds and lengths are lognormal, cut where a run of a minute could not use them."""
    rng = np.random.default_rng(seed)
    speeds = np.clip(rng.lognormal(np.log(25e3), 0.9, _SERVERS), 8e3, 400e3)
    trips = rng.uniform(0.02, 0.2, _SERVERS)
    lengths = np.clip(rng.lognormal(np.log(10e3), 1.2, _DOCUMENTS), 500, 300e3)
    scores = -np.sort(-rng.random(_DOCUMENTS))
    servers = rng.integers(0, _SERVERS, _DOCUMENTS)
    return World(
        [Server(float(speed), float(trip)) for speed, trip in zip(speeds, trips, strict=True)],
        [
            Document(int(server), int(length), float(score))
            for server, length, score in zip(servers, lengths, scores, strict=True)
        ],
    )
