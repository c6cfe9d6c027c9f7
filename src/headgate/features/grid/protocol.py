"""Messages between a node and its source of tasks: six requests and their answers.

| question   | answer            | if repeated                                                    |
|------------|-------------------|----------------------------------------------------------------|
| `Claim`    | `Grant` or `Idle` | same ``id``: the same task, as long as its lease is open       |
| `Beat`     | `Orders`          | harmless; ``number`` keeps differences from being counted twice |
| `Known`    | bytes             | harmless                                                       |
| `Put`      | `ResultVerdict`   | harmless                                                       |
| `Chunk`    | yes or no         | harmless: bytes are written where they belong                  |
| `Manifest` | `ResultVerdict`   | until it is not `Word.RECEIVED`                                |

All times are durations, counted by the receiver from the time of its request, by its own monotonic
clock: the clocks of two machines are never compared. A question does not name its sender, which is
known from the connection.

Bodies are JSON. Fields may be added, with defaults, and unknown ones are ignored; any other change
needs another `VERSION`, which is refused with a message.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated, Any, Protocol, TypeAlias, TypeVar

import msgspec

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.progress import Progress
from headgate.model.encoding import Label, Tally
from headgate.model.errors import UserMistake, WorldFault
from headgate.model.task import Task

__all__ = [
    "CHUNK_BYTES",
    "KNOWN_BYTES",
    "MOST_AMOUNT",
    "MOST_TASKS",
    "TASK_BYTES",
    "VERSION",
    "Beat",
    "CannotDo",
    "Chunk",
    "Claim",
    "ClaimAnswer",
    "FileDigest",
    "FileSize",
    "Grant",
    "Held",
    "Idle",
    "Inability",
    "Known",
    "Lease",
    "Manifest",
    "Orders",
    "Put",
    "Question",
    "Refused",
    "ResultVerdict",
    "SourceAway",
    "StopTask",
    "TaskDesk",
    "TaskSource",
    "Word",
    "claim_answer",
    "decoded",
    "encoded",
]

VERSION = 1
CHUNK_BYTES = 256 << 10
"""Most bytes of a file in one message."""
KNOWN_BYTES = 512 << 10
"""The same for a site's memory, and for what was handed to a part."""
TASK_BYTES = 1_000_000
"""Most bytes of a task: a grant is one message, of a mebibyte at most."""
MOST_FILES = 10_000
"""Most files of a result."""
MOST_TASKS = 1_000
"""Most tasks of a node, and most slots."""
_MOST_HOSTS = 10_000
"""Most hosts of one heartbeat."""
_LONGEST_REASON = 200
_MOST_ERRORS = 2_000
"""Most kinds of errors of a site: a few of ours, and statuses."""

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
MOST_AMOUNT = 2.0**60
Amount: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=MOST_AMOUNT)]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern=r"^[^/\x00]+$")]
"""A file name, without a folder."""
Stamp: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[0-9A-Za-z-]{1,64}\Z")]
"""The name of a run: it names folders of the node."""
Sha256: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]

_Errors: TypeAlias = Annotated[dict[Label, Tally], msgspec.Meta(max_length=_MOST_ERRORS)]

Kind = TypeVar("Kind")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    version: int = VERSION


class Lease(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A task given to a node; each later holder has a higher epoch."""

    task: Count
    epoch: Count


class Claim(Question, frozen=True, kw_only=True):
    """A free slot asks for a task."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=64, pattern=r"^[^\x00]+$")]
    """A new one for every task, the same if an answer was lost."""
    slots: Annotated[int, msgspec.Meta(ge=1, le=MOST_TASKS)] = 1
    """Tasks that the node runs at once."""
    free_bytes: Count = 2**60
    """What it may still use of its disk."""
    bandwidth: Amount | None = None
    """Bytes per second that its owner allows now; None: no limit."""
    not_these: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MOST_TASKS)] = ()
    """Tasks that it gave back because its owner's rules forbid them."""


class Grant(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A task, and what the node needs for it."""

    lease: Lease
    seconds: Amount
    """The lease ends this long after the claim was sent, unless a heartbeat extends it."""
    task: Task
    """Its site's deadline counts from now."""
    stamp: Stamp
    """The run's name. The result is the files of a run of this name: journal and WARC files."""
    contact: str = ""
    """For the user agent."""
    expected_bytes: Amount = 0.0
    """Expected wire bytes; 0: unknown."""
    most_bytes: Amount = 2.0**60
    """Most bytes of the result's files."""
    known_bytes: Count = 0
    """Size of the site's memory, to be fetched by `Known`; 0: there is none."""
    handed_bytes: Count = 0
    """The same for what earlier parts of the site handed to this one."""


class Idle(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Nothing for this node now."""

    wait: Amount
    """Seconds to the next claim."""
    left: Count
    """Tasks of the whole grid that are not done yet."""


ClaimAnswer: TypeAlias = Grant | Idle


class Held(msgspec.Struct, frozen=True, kw_only=True):
    lease: Lease
    progress: Progress

    def __post_init__(self) -> None:
        _check(self.progress)


class Inability(StrEnum):
    """Why a node gives a task back that others may do."""

    PRIVATE_ADDRESS = "private address"
    HOST = "host"
    DISK = "disk"
    RULES = "rules"


class CannotDo(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is given back because this node cannot do it."""

    lease: Lease
    what: Inability
    why: Annotated[str, msgspec.Meta(max_length=_LONGEST_REASON, pattern=r"\A[^\x00]*\Z")] = ""
    """For people, at both ends."""


class Beat(Question, frozen=True, kw_only=True):
    """Sent every third of a lease, and at once after the start: without orders nothing is
    fetched."""

    life: Count
    """Identifies the node's process; higher after a restart."""
    number: Count
    """Number of the heartbeat in this life; the same if it is sent again."""
    heard: Count = 0
    """The highest number in this life that was answered; earlier orders are void."""
    holds: Amount | None = None
    """Bytes per second that the node may use now, by the last orders; None: no bound, or none
    came."""
    tasks: Annotated[tuple[Held, ...], msgspec.Meta(max_length=MOST_TASKS)] = ()
    servers: Annotated[dict[Label, ServerTally], msgspec.Meta(max_length=_MOST_HOSTS)] = {}
    """Growth of the counters by address since the last heartbeat."""
    connects: Annotated[dict[Label, Amount], msgspec.Meta(max_length=_MOST_HOSTS)] = {}
    """Seconds to connect, by host, as far as new since the last heartbeat."""
    reference_seconds: Amount | None = None
    """Time of a visit to the reference site, if one was made."""
    back: Annotated[tuple[Lease, ...], msgspec.Meta(max_length=MOST_TASKS)] = ()
    """Leases that the node gives back."""
    cannot: Annotated[tuple[CannotDo, ...], msgspec.Meta(max_length=MOST_TASKS)] = ()
    """Those of them that it cannot do."""
    leaving: bool = False
    """The node ends, and gives back all leases whose result it does not deliver."""


class StopTask(msgspec.Struct, frozen=True, kw_only=True):
    lease: Lease
    why: str


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    good: tuple[Lease, ...] = ()
    """Leases that are extended."""
    stop: tuple[StopTask, ...] = ()
    """Leases that were lost; their results may still be offered by `Put`."""
    end: tuple[StopTask, ...] = ()
    """Extended leases whose task is to end: the node delivers what it has."""
    seconds: Amount = 60.0
    """Extended leases end this long after the heartbeat was sent."""
    total: Amount | None = None
    """Bytes per second that the node may use; None: no limit."""
    total_seconds: Amount = 60.0
    """How long after the heartbeat that is valid; then nothing may be fetched."""
    reference: str = ""
    """A URL to fetch once a day, so that nodes can be compared; empty: none."""


class Known(Question, frozen=True, kw_only=True):
    """Asks for the next bytes of a site's memory; none: that was all."""

    lease: Lease
    offset: Count
    most: Annotated[int, msgspec.Meta(gt=0, le=KNOWN_BYTES)] = KNOWN_BYTES
    """Bytes that may come at once."""
    handed: bool = False
    """Instead of the memory, what earlier parts handed to this one."""


class FileSize(msgspec.Struct, frozen=True, kw_only=True):
    name: Name
    size: Count


class Put(Question, frozen=True, kw_only=True):
    """Offers a result. From here on its files have numbers, in order from 0."""

    lease: Lease
    files: Annotated[tuple[FileSize, ...], msgspec.Meta(max_length=MOST_FILES)]


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """Where bytes of a file belong; the bytes are sent alongside."""

    lease: Lease
    file: Count
    offset: Count


class FileDigest(msgspec.Struct, frozen=True, kw_only=True):
    name: Name
    size: Count
    sha256: Sha256


class Manifest(Question, frozen=True, kw_only=True):
    """All chunks were sent: the result is complete."""

    lease: Lease
    files: Annotated[tuple[FileDigest, ...], msgspec.Meta(max_length=MOST_FILES)]
    progress: Progress

    def __post_init__(self) -> None:
        _check(self.progress)


class Word(StrEnum):
    SEND = "send"
    """Send the result."""
    WAIT = "wait"
    """Not now; try again later."""
    RESEND = "resend"
    """Some files do not match the manifest: send those again, by their numbers."""
    RECEIVED = "received"
    """It is complete and will be stored: ask again."""
    COMMITTED = "committed"
    """It is stored; only now may the node delete its copy."""
    SUPERSEDED = "superseded"
    """Another node's result counts; the node may delete its own."""
    NEVER_YOURS = "never yours"
    """The node never had this lease."""
    REFUSED = "refused"
    """This result is not accepted, and its lease has ended; the node may go on with others."""


class ResultVerdict(msgspec.Struct, frozen=True, kw_only=True):
    word: Word
    wait: Amount = 0.0
    """Seconds, with `Word.WAIT`."""
    files: tuple[Count, ...] = ()
    """With `Word.RESEND`."""
    why: str = ""
    """With `Word.REFUSED`, and with `Word.WAIT` if the owner should know."""


_encoder = msgspec.json.Encoder()
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}
"""Made on first use, by kind."""


def encoded(message: msgspec.Struct) -> bytes:
    return _encoder.encode(message)


def decoded(data: bytes, kind: type[Kind]) -> Kind:
    """Raises `msgspec.MsgspecError` (a ValueError) if it is not a message of this kind."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind, dec_hook=_from_plain)
    found: Kind = decoder.decode(data)
    return found


def claim_answer(data: bytes) -> ClaimAnswer:
    """Decode the answer to a claim, which is one of two types."""
    answer: ClaimAnswer = msgspec.json.decode(data, type=ClaimAnswer, dec_hook=_from_plain)
    return answer


def _from_plain(kind: Any, value: Any) -> Any:
    """Decode a Counter, the one type that msgspec does not know."""
    if getattr(kind, "__origin__", None) is Counter:
        return Counter(msgspec.convert(value, _Errors))
    raise NotImplementedError(kind)


def _check(progress: Progress) -> None:
    """What types cannot say: raises ValueError if it is no progress that a run can have. Reasons
    are shown to people: of each there is a sentence."""
    progress.reason = progress.reason[:_LONGEST_REASON]
    for host, why in progress.given_up.items():
        if len(why) > _LONGEST_REASON:
            progress.given_up[host] = why[:_LONGEST_REASON]
    growth = progress.growth
    depths = {len(each) for each in (growth.known, growth.settled, growth.brought, growth.sizes)}
    if len(depths) > 1:
        raise ValueError("the counters of a site have the same number of depths")
    if progress.earlier_wire_bytes > progress.arrived_bytes:
        raise ValueError("more bytes came before an interruption than came at all")


class SourceAway(WorldFault):
    """No answer; the question may have arrived or not. Ask again."""


class Refused(UserMistake):
    """A final refusal of the node: revoked, not understood, another version. A result that is not
    accepted is a `ResultVerdict`."""


class TaskSource(Protocol):
    """Where a node's tasks come from and its results go: both sides of the port.

    `TaskSource` is the node's side; it knows the node that it asks for. `TaskDesk` is the answering
    side: the same six verbs, with the name of the node that asks, which is known from the
    connection and never from the message. Over a network, something passes the questions on.

    A source never invents an answer. If none comes, it raises `SourceAway`, and the node asks
    again: each question may be repeated any number of times.

    The source of one node. All methods may raise `SourceAway` and `Refused`.
    """

    async def claim(self, claim: Claim) -> ClaimAnswer: ...

    async def beat(self, beat: Beat) -> Orders: ...

    async def known(self, known: Known) -> bytes:
        """Empty at the end of the memory, and for a lease that is not this node's."""
        ...

    async def put(self, put: Put) -> ResultVerdict: ...

    async def chunk(self, chunk: Chunk, data: bytes) -> bool:
        """False: it is not expected. `put` says why, and may be answered `Word.SEND` again."""
        ...

    async def done(self, manifest: Manifest) -> ResultVerdict: ...


class TaskDesk(Protocol):
    """Answers all nodes. Raises `Refused` if the node should give up."""

    async def claim(self, node: str, claim: Claim) -> ClaimAnswer: ...

    async def beat(self, node: str, beat: Beat) -> Orders: ...

    async def known(self, node: str, known: Known) -> bytes: ...

    async def put(self, node: str, put: Put) -> ResultVerdict: ...

    async def chunk(self, node: str, chunk: Chunk, data: bytes) -> bool: ...

    async def done(self, node: str, manifest: Manifest) -> ResultVerdict: ...
