"""Messages between a node and its source of tasks: six requests and their answers.

| question   | answer            | asked again                                                    |
|------------|-------------------|----------------------------------------------------------------|
| `Claim`    | `Grant` or `Idle` | same ``id``: the same task, as long as its lease is open       |
| `Beat`     | `Orders`          | harmless; ``number`` keeps differences from being counted twice |
| `Known`    | bytes             | harmless                                                       |
| `Put`      | `Verdict`         | harmless                                                       |
| `Chunk`    | yes or no         | harmless: bytes are written where they belong                  |
| `Manifest` | `Verdict`         | until it is not `Word.RECEIVED`                                |

All times are durations, counted by whoever is told them from the moment at which it asked, by its
own clock that does not jump: the clocks of two machines are never compared. Who asks is never in a
question; that is for the way it came by to say.

Bodies are JSON. Fields may be added, with defaults, and unknown ones are passed over; anything else
is another `VERSION`, which is refused in words.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

from headgate.crawling.progress import Progress
from headgate.model.task import Task
from headgate.traffic.server_tally import ServerTally

__all__ = [
    "CHUNK_BYTES",
    "KNOWN_BYTES",
    "MOST_FILES",
    "VERSION",
    "Beat",
    "Chunk",
    "Claim",
    "ClaimAnswer",
    "FileDigest",
    "FileSize",
    "Grant",
    "Held",
    "Idle",
    "Known",
    "Lease",
    "Manifest",
    "Orders",
    "Put",
    "Question",
    "Stop",
    "Verdict",
    "Word",
    "claim_answer",
    "decoded",
    "encoded",
]

VERSION = 1
CHUNK_BYTES = 256 << 10
"""Of a file at the most, in one message."""
KNOWN_BYTES = 512 << 10
"""The same of a site's memory, and of what was left to a part."""
MOST_FILES = 10_000
"""Of one result."""
_MOST_TASKS = 1_000
"""That one node holds."""

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
Amount: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=2.0**60)]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern=r"^[^/\x00]+$")]
"""Of a file, without a folder."""
Sha256: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]

Kind = TypeVar("Kind")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    version: int = VERSION


class Lease(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A task given to a node; each later holder has a higher epoch."""

    task: Count
    epoch: Count


class Claim(Question, frozen=True, kw_only=True):
    """A free slot asks for a task."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    """Another for every task wanted, the same where an answer was lost."""
    slots: Annotated[int, msgspec.Meta(ge=1, le=_MOST_TASKS)] = 1
    """Tasks that the node runs at once."""
    free_bytes: Count = 2**60
    """That it may still put on its disk."""
    not_these: Annotated[tuple[Count, ...], msgspec.Meta(max_length=_MOST_TASKS)] = ()
    """Tasks that it gave back, and would again: its owner's rules forbid them."""


class Grant(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A task, and what its node must know of it."""

    lease: Lease
    seconds: Amount
    """The lease ends so long after the claim was sent, unless a beat prolongs it."""
    task: Task
    """Its site's deadline counts from now."""
    stamp: str
    """The run's name. Files of a run of this name are the result: journal and WARC files."""
    contact: str = ""
    """For the user agent."""
    expected_bytes: Amount = 0.0
    """On the line; 0: not known."""
    most_bytes: Amount = 2.0**60
    """Of a result's files: more is refused."""
    known_bytes: Count = 0
    """Of the site's memory, to be asked for by `Known`; 0: there is none."""
    handed_bytes: Count = 0
    """The same of what parts of the site in the round before left to this one."""


class Idle(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Nothing for this node now."""

    wait: Amount
    """Seconds to the next claim."""
    left: Count
    """Tasks not done yet, of anybody; 0: nothing will come but from a user."""


ClaimAnswer: TypeAlias = Grant | Idle


class Held(msgspec.Struct, frozen=True, kw_only=True):
    lease: Lease
    progress: Progress


class Beat(Question, frozen=True, kw_only=True):
    """Every third of a lease, and at once after the start: without orders nothing is fetched."""

    life: Count
    """Which life of the node's process this is; the next one's is higher."""
    number: Count
    """Of the beat in this life. A beat sent again, its answer being lost, has the same."""
    heard: Count = 0
    """The highest number of this life that was answered: what orders before it said is void."""
    holds: Amount | None = None
    """Bytes per second that the node may use now, by the last orders; None: no bound, or none
    came."""
    tasks: Annotated[tuple[Held, ...], msgspec.Meta(max_length=_MOST_TASKS)] = ()
    servers: dict[str, ServerTally] = {}
    """By address, what was added since the beat before."""
    connects: dict[str, Amount] = {}
    """Seconds that a connection took, by host; what is new since the beat before."""
    reference_seconds: Amount | None = None
    """That a visit to the reference site took, when one has been made."""
    back: Annotated[tuple[Lease, ...], msgspec.Meta(max_length=_MOST_TASKS)] = ()
    """Leases that the node gives back one by one."""
    leaving: bool = False
    """The node ends, and gives back all that it holds and does not bring."""


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    lease: Lease
    why: str


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    good: tuple[Lease, ...] = ()
    """Of those held, the ones that are prolonged."""
    stop: tuple[Stop, ...] = ()
    """The others. What was fetched may still be offered by `Put`."""
    end: tuple[Stop, ...] = ()
    """Of the good ones, those that are wanted no further: what was fetched is to be brought."""
    seconds: Amount = 60.0
    """Leases that are good end so long after the beat was sent."""
    total: Amount | None = None
    """Bytes per second that the whole node may use; None: as much as it can."""
    total_seconds: Amount = 60.0
    """For how long from then. After that nothing is fetched: others have it."""
    reference: str = ""
    """A URL to fetch once a day, so that nodes can be compared; empty: none."""


class Known(Question, frozen=True, kw_only=True):
    """The next piece of a site's memory, at most `KNOWN_BYTES`; nothing: that was all."""

    lease: Lease
    offset: Count
    handed: bool = False
    """Of what parts before this one left to it, instead."""


class FileSize(msgspec.Struct, frozen=True, kw_only=True):
    name: Name
    size: Count


class Put(Question, frozen=True, kw_only=True):
    """A result waits to be brought. Its files have numbers from here on, from 0 in their order."""

    lease: Lease
    files: Annotated[tuple[FileSize, ...], msgspec.Meta(max_length=MOST_FILES)]


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """Where bytes of a file go; the bytes themselves travel beside it."""

    lease: Lease
    file: Count
    offset: Count


class FileDigest(msgspec.Struct, frozen=True, kw_only=True):
    name: Name
    size: Count
    sha256: Sha256


class Manifest(Question, frozen=True, kw_only=True):
    """All chunks were sent: the result is whole."""

    lease: Lease
    files: Annotated[tuple[FileDigest, ...], msgspec.Meta(max_length=MOST_FILES)]
    progress: Progress


class Word(StrEnum):
    SEND = "send"
    """Bring it."""
    WAIT = "wait"
    """Not now; ask again later."""
    RESEND = "resend"
    """Some files are not as the manifest says: bring those again, by their numbers."""
    RECEIVED = "received"
    """It is whole, and will be stored: ask again."""
    COMMITTED = "committed"
    """It is stored. Only now may the node delete its own."""
    SUPERSEDED = "superseded"
    """Another's result counts. The node may delete its own."""
    NEVER_YOURS = "never yours"
    """The node never had this lease."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    word: Word
    wait: Amount = 0.0
    """Seconds, with `Word.WAIT`."""
    files: tuple[Count, ...] = ()
    """With `Word.RESEND`."""


def encoded(message: msgspec.Struct) -> bytes:
    return msgspec.json.encode(message)


def decoded(data: bytes, kind: type[Kind]) -> Kind:
    """`msgspec.MsgspecError` (a ValueError) for anything but a message of this kind."""
    return msgspec.json.decode(data, type=kind, dec_hook=_from_plain)


def claim_answer(data: bytes) -> ClaimAnswer:
    """The one answer of two kinds."""
    answer: ClaimAnswer = msgspec.json.decode(data, type=ClaimAnswer, dec_hook=_from_plain)
    return answer


def _from_plain(kind: Any, value: Any) -> Any:
    """The one type that msgspec does not know."""
    if getattr(kind, "__origin__", None) is Counter:
        return Counter(value)
    raise NotImplementedError(kind)
