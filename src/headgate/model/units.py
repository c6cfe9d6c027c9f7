"""Parsing and formatting of quantities, and the only three units used internally.

Inside Headgate a size is always in bytes, a rate in bytes per second, a duration in seconds; bits
and prefixes exist only in this file. The types are distinct for the type checker and plain floats
at run time, so arithmetic costs nothing.

``KB`` is 1000 bytes and ``KiB`` is 1024; ``kbit`` and ``kbps`` are 1000 bits. ``kb`` is refused
because it is ambiguous between bits and bytes. A bare number is bytes, bytes per second or seconds.
"""

from __future__ import annotations

import math
import re
from typing import NewType

import msgspec

from headgate.model.errors import UserMistake

__all__ = [
    "UNLIMITED",
    "Bytes",
    "BytesPerSecond",
    "Seconds",
    "SizeRange",
    "format_duration",
    "format_rate",
    "format_size",
    "parse_duration",
    "parse_rate",
    "parse_size",
]

Bytes = NewType("Bytes", float)
BytesPerSecond = NewType("BytesPerSecond", float)
Seconds = NewType("Seconds", float)

UNLIMITED = BytesPerSecond(math.inf)

_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_PREFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_BYTES_IN = {
    **{f"{prefix}B": float(factor) for prefix, factor in _PREFIXES.items()},
    "KB": 1e3,
    **{f"{prefix}B": float(factor) for prefix, factor in _BINARY_PREFIXES.items()},
    **{f"{prefix}bit": factor / 8 for prefix, factor in _PREFIXES.items()},
}
_RATES_IN = {f"{unit}/s": factor for unit, factor in _BYTES_IN.items()} | {
    f"{prefix}bps": factor / 8 for prefix, factor in _PREFIXES.items() if prefix
}
_SECONDS_IN = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

_QUANTITY = re.compile(
    r"\s*+(?P<number>\d++(?:\.\d++)?(?:e[+-]?\d++)?|\.\d++)\s*+(?P<unit>\S*+)\s*+"
)
_DURATION = re.compile(r"\s*(?:\d+(?:\.\d+)?\s*(?:ms|[smhdw])\s*)+")
_DURATION_PART = re.compile(r"(?<![\d.])(\d++(?:\.\d++)?)\s*+(ms|[smhdw])")


def parse_size(text: str | float) -> Bytes:
    """Read a size.

    >>> parse_size("1.5 MB"), parse_size("512 KiB"), parse_size("800 kbit"), parse_size(7)
    (1500000.0, 524288.0, 100000.0, 7.0)
    """
    return Bytes(_quantity(text, _BYTES_IN, what="size", example="120 MB"))


def parse_rate(text: str | float) -> BytesPerSecond:
    """Read a rate; ``unlimited`` is one.

    >>> parse_rate("1.5 MB/s"), parse_rate("800 kbit/s"), parse_rate("unlimited")
    (1500000.0, 100000.0, inf)
    """
    if isinstance(text, str) and text.strip() == "unlimited":
        return UNLIMITED
    return BytesPerSecond(_quantity(text, _RATES_IN, what="rate", example="1.5 MB/s"))


def parse_duration(text: str | float) -> Seconds:
    """Read a duration.

    >>> parse_duration("10m"), parse_duration("1h30m"), parse_duration("1.5 h"), parse_duration(90)
    (600.0, 5400.0, 5400.0, 90.0)
    """
    if isinstance(text, str) and _DURATION.fullmatch(text):
        parts = _DURATION_PART.findall(text)
        seconds = sum(float(number) * _SECONDS_IN[unit] for number, unit in parts)
        return Seconds(_finite(seconds, text, "duration"))
    return Seconds(_quantity(text, {}, what="duration", example="1h30m"))


def _quantity(text: str | float, factors: dict[str, float], *, what: str, example: str) -> float:
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise UserMistake(f"{text!r} is not a {what}; write it like {example!r}")
    if not isinstance(text, str):
        value = _as_float(text)
    else:
        match = _QUANTITY.fullmatch(text)
        if match is None:
            raise UserMistake(f"{text!r} is not a {what}; write it like {example!r}")
        value = float(match["number"]) * _factor(match["unit"], factors, what, example)
    return _finite(value, text, what)


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:  # an integer of hundreds of digits
        return math.inf


def _finite(value: float, text: str | float, what: str) -> float:
    if math.isinf(value) and text != math.inf:
        raise UserMistake(f"the number is more than any {what} can be")
    if not math.isfinite(value) or value < 0:
        raise UserMistake(f"{text!r} is not a {what}: it must be a finite number, not negative")
    return value


def _factor(unit: str, factors: dict[str, float], what: str, example: str) -> float:
    if not unit:
        return 1.0
    if unit in factors:
        return factors[unit]
    bits_or_bytes = re.fullmatch(r"[kKmMgGtT]b(/s)?", unit)
    if bits_or_bytes and factors:
        prefix, tail = unit[0].upper(), bits_or_bytes[1] or ""
        bit_prefix = "k" if prefix == "K" else prefix
        raise UserMistake(
            f"{unit!r} may mean bits or bytes; write {prefix}B{tail} or {bit_prefix}bit{tail}"
        )
    known = {known.lower(): known for known in factors}
    near = known.get(unit.lower()) or known.get(f"{unit.lower()}/s")
    remedy = f"did you mean {near!r}?" if near else f"write it like {example!r}"
    raise UserMistake(f"{unit!r} is not a unit of a {what}; {remedy}")


def format_size(size: float) -> str:
    """Write a size for people, decimal units.

    >>> format_size(1_234_567), format_size(999), format_size(0)
    ('1.23 MB', '999 B', '0 B')
    """
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= factor * 0.9995:
            digits = ".3g" if size < factor * 999.5 else ".0f"
            return f"{size / factor:{digits}} {unit}"
    return f"{size:.3g} B"


def format_rate(rate: float) -> str:
    """Write a rate for people.

    >>> format_rate(65_000), format_rate(math.inf)
    ('65 KB/s', 'unlimited')
    """
    return "unlimited" if math.isinf(rate) else f"{format_size(rate)}/s"


def format_duration(seconds: float) -> str:
    """Write a duration for people, two units at most.

    >>> format_duration(5400), format_duration(183.6), format_duration(7.25), format_duration(0.004)
    ('1h 30m', '3m 04s', '7.2s', '0.0s')
    """
    if math.isinf(seconds):
        return "never"
    if seconds < 60:
        return f"{seconds:.1f}s" if seconds < 59.95 else "1m 00s"
    minutes, whole_seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {whole_seconds:02d}s"
    hours, minutes = divmod(minutes + round(whole_seconds / 60), 60)
    if hours < 48:
        return f"{hours}h {minutes:02d}m"
    days, hours = divmod(hours + round(minutes / 60), 24)
    return f"{days}d {hours:02d}h"


_VAGUE = 1.3


class SizeRange(msgspec.Struct, frozen=True):
    """An uncertain size.

    Wire bytes: about 80 % of true values lie between ``low`` and ``high``.
    """

    low: float
    likely: float
    high: float

    @classmethod
    def exactly(cls, bytes_: float) -> SizeRange:
        return cls(bytes_, bytes_, bytes_)

    def plus(self, bytes_: float) -> SizeRange:
        """The range shifted by a known number of bytes."""
        return SizeRange(self.low + bytes_, self.likely + bytes_, self.high + bytes_)

    @property
    def vague(self) -> bool:
        """Whether a single number would claim too much."""
        return self.high > _VAGUE * self.likely or self.likely > _VAGUE * self.low
