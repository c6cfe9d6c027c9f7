"""RFC 9309 read plainly, with no thought of speed: what robots.py is held against.

Groups by the grammar of section 2.2, paths escaped and compared octet by octet as section 2.2.2
tells it, wildcards by trying everything. Shares no code and no idea with the real one: paths are
escaped here and unescaped there, wildcards tried here and searched there.
"""

from __future__ import annotations

import re
import string
from functools import cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

__all__ = ["allowed", "our_rules"]

UNRESERVED = string.ascii_letters + string.digits + "-._~"


def our_rules(body: bytes, agent: str) -> list[tuple[str, str]]:
    """All rules of the groups for this agent; without such, of those for anyone."""
    groups: list[tuple[list[str], list[tuple[str, str]]]] = []
    for field, value in _records(body):
        if field == "user-agent":
            if not groups or groups[-1][1]:
                groups.append(([], []))
            groups[-1][0].append(value)
        elif groups:
            groups[-1][1].append((field, value))
    for wanted in (agent, "*"):
        matching = [rules for agents, rules in groups if any(_is(a, wanted) for a in agents)]
        if matching:
            return [rule for rules in matching for rule in rules]
    return []


def allowed(rules: list[tuple[str, str]], path: str) -> bool:
    """The longest match decides, Allow in a draw; robots.txt is always allowed."""
    best, verdict = 0, True
    spellings = [_escaped(path, query_read=read) for read in (True, False)]
    for field, written in rules:
        pattern = _pattern(written)
        if not pattern or not any(_matches(pattern, octets) for octets in spellings):
            continue
        length = _length(written)
        if length > best or (length == best and field == "allow"):
            best, verdict = length, field == "allow"
    return verdict or path == "/robots.txt"


def _records(body: bytes) -> list[tuple[str, str]]:
    text = body.decode("utf-8-sig", "surrogateescape")
    records = []
    for line in text.replace("\r", "\n").split("\n"):
        match = re.fullmatch(r"\s*(user-agent|allow|disallow)\s*:([^#]*)(#.*)?", line, re.I | re.S)
        if match:
            records.append((match[1].lower(), match[2].strip()))
    return records


def _is(written: str, wanted: str) -> bool:
    if wanted == "*":
        return written == "*" or written.startswith("* ")
    token = written
    for place, char in enumerate(written):
        if char not in string.ascii_letters + "_-":
            token = written[:place]
            break
    return token.lower() == wanted


def _escaped(path: str, *, query_read: bool = True, in_query: bool = False) -> list[str]:
    """Each octet as its escape, or as itself; what divides a path has a sign of its own where it
    is escaped: ``/`` becomes ``%2F``, and ``%2F`` becomes ``(%2F)``."""
    signs = []
    rest = path.encode("utf-8", "surrogateescape")
    while rest:
        escape = re.match(rb"%[0-9A-Fa-f]{2}", rest)
        octet = unquote_to_bytes(escape[0]) if escape else rest[:1]
        apart = escape and octet in b"/?#%" and not (in_query and query_read)
        sign = quote_from_bytes(octet, UNRESERVED)
        signs.append(f"({sign})" if apart else sign)
        in_query = in_query or rest[:1] == b"?"
        rest = rest[3 if escape else 1 :]
    return signs


@cache
def _pattern(written: str) -> list[str]:
    """Escaped octets; a bare ``*`` or ``$`` stands for the wildcard."""
    end = ["$"] if written.endswith("$") else []
    pieces = (written[:-1] if end else written).split("*")
    octets = _escaped(pieces[0])
    for place, piece in enumerate(pieces[1:], 1):
        octets += ["*", *_escaped(piece, in_query="?" in "".join(pieces[:place]))]
    return octets + end


@cache
def _length(written: str) -> int:
    """Octets; those that must be escaped count as their escapes, the others as themselves."""
    return sum(3 if sign.startswith("(") or sign[1:] > "7F" else 1 for sign in _pattern(written))


def _matches(pattern: list[str], path: list[str]) -> bool:
    """Which places of the path can the pattern have reached after each of its signs?"""
    reached = {0}
    for sign in pattern:
        if sign == "$":
            return len(path) in reached
        if sign == "*":
            reached = set(range(min(reached), len(path) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(path) and path[at] == sign}
        if not reached:
            return False
    return True
