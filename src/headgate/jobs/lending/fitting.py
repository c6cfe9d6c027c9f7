"""Progress that fits into a message: a NATS server lets no more than a mebibyte through, and what
is larger would be sent again for ever, without an answer.

A chain of a hundred thousand pages has as many depths, and a site may have as many dead hosts. The
manager does without such details: first those that only improve its estimates are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from headgate.crawling.growth import Growth
from headgate.crawling.progress import Progress
from headgate.crawling.task_messages import Held, encoded
from headgate.model.left_out import LeftOut

__all__ = ["MOST_BYTES", "fitting", "fitting_together"]

MOST_BYTES = 512 << 10
"""The other half of a message is for servers, connect times, or names of files."""
_FEW_HOSTS = 100


def _counts(left_out: Mapping[str, LeftOut]) -> dict[str, LeftOut]:
    return {reason: LeftOut(found.count) for reason, found in left_out.items()}


_SHORTER: tuple[Callable[[Progress], Progress], ...] = (
    lambda progress: replace(progress, growth=Growth()),
    lambda progress: replace(
        progress, given_up=dict(islice(progress.given_up.items(), _FEW_HOSTS))
    ),
    lambda progress: replace(progress, given_up={}, left_out=_counts(progress.left_out)),
    lambda progress: replace(progress, left_out={}, errors=Counter[str](), focus=None),
)


def fitting(progress: Progress, most_bytes: float = MOST_BYTES) -> Progress:
    for shorter in _SHORTER:
        if len(encoded(progress)) <= most_bytes:
            break
        progress = shorter(progress)
    return progress


def fitting_together(held: Sequence[Held]) -> tuple[Held, ...]:
    """Of a heartbeat; each may have the same part of it. A thousand may take more all the same,
    when nothing is left to leave out."""
    each = MOST_BYTES / max(len(held), 1)
    return tuple(replace(one, progress=fitting(one.progress, each)) for one in held)
