"""The URLs that a part of a site starts with: a file that the manager makes from the round before,
sends to the node that crawls the part, and which is read when its crawl begins.

    spool/<stamp>/<site>~<number>.handed
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headgate.frontier.seen_urls import Hashes
from headgate.model.errors import DamagedFile
from headgate.storage.atomic_write import write_whole
from headgate.storage.collection import RunFolder, visit_stem
from headgate.storage.safe_files import Count, reading

if TYPE_CHECKING:
    from headgate.crawling.url_sources import Handed

__all__ = ["handout_path", "is_handout", "load_handout", "packed_handout", "save_handout"]

_REMEDY = "delete the node's folder; another will crawl the part"
_WORD_BYTES = 8


class _Handout(msgspec.Struct, frozen=True, array_like=True):
    asks: list[tuple[Count, list[str]]]
    met: bytes
    """Hashes, words of 64 bits."""


def handout_path(run: RunFolder, site: str, number: int) -> Path:
    return run.spool / f"{visit_stem(site, number)}.handed"


def packed_handout(asks: Mapping[int, list[str]], met: Hashes) -> bytes:
    """URLs to do by depth, and the hashes of all URLs that were found so far."""
    return msgspec.msgpack.encode(_Handout(sorted(asks.items()), met.tobytes()))


def save_handout(path: Path, packed: bytes) -> None:
    """Durable when it returns."""
    write_whole(path, packed)


def is_handout(packed: bytes) -> bool:
    """Whether it is complete."""
    return _unpacked(packed) is not None


def load_handout(path: Path) -> Handed:
    from headgate.crawling.url_sources import (
        Handed,  # here: a manager, which writes, does not crawl
    )

    with reading(path):
        handout = _unpacked(path.read_bytes())
    if handout is None:
        raise DamagedFile(path, "it is cut off", _REMEDY)
    met = array("Q")
    met.frombytes(handout.met)
    return Handed(handout.asks, met)


def _unpacked(packed: bytes) -> _Handout | None:
    try:
        handout = msgspec.msgpack.decode(packed, type=_Handout)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return None if len(handout.met) % _WORD_BYTES else handout
