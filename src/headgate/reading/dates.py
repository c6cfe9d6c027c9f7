"""Parses dates in sitemaps, feeds and headers.

Read leniently: ISO 8601 and W3C's profile of it, with or without time, zone, seconds or leading
zeros, and the dates of mail and HTTP. Without a zone, UTC is assumed. Nothing raises. Sites repeat
the same few dates, so results are cached.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

__all__ = ["parse_date"]

_ISO = re.compile(
    r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[Tt\s]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(?:([Zz])|([+-])(\d{2}):?(\d{2}))?)?)?)?\s*",
    re.ASCII,
)
_LONGEST = 64


@lru_cache(1_024)
def parse_date(text: str) -> datetime | None:
    """None: it cannot be parsed.

    >>> parse_date("2026-11-15T19:20:03+01:00"), parse_date("2026-11")
    (datetime.datetime(2026, 11, 15, 18, 20, 3, tzinfo=datetime.timezone.utc), \
datetime.datetime(2026, 11, 1, 0, 0, tzinfo=datetime.timezone.utc))
    """
    if len(text) > _LONGEST:
        return None
    match = _ISO.fullmatch(text)
    try:
        moment = _mail_date(text) if match is None else _iso_date(match)
        return moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


def _iso_date(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    offset = timedelta(hours=int(match[9] or 0), minutes=int(match[10] or 0))
    zone = timezone(-offset if match[8] == "-" else offset)
    return datetime(year, month or 1, day or 1, hour, minute, second, tzinfo=zone)


def _mail_date(text: str) -> datetime:
    from email.utils import parsedate_to_datetime

    moment = parsedate_to_datetime(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
