"""Every way in which a page may write where a link leads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar
from urllib.parse import quote

import numpy as np

__all__ = ["Dice", "Place", "reference"]

_Thing = TypeVar("_Thing")
_DRAWN_AT_ONCE = 1024


class Dice:
    """Chance by a seed. Draws in blocks: one number at a time is ten times as slow."""

    def __init__(self, *seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._drawn: list[float] = []

    def chance(self, part: float) -> bool:
        return self._draw() < part

    def below(self, bound: int) -> int:
        return int(self._draw() * bound)

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)

    def one_of(self, things: Sequence[_Thing]) -> _Thing:
        return things[self.below(len(things))]

    def seconds(self, mean: float) -> float:
        """Exponentially distributed."""
        return float(-mean * np.log1p(-self._draw()))

    def _draw(self) -> float:
        if not self._drawn:
            self._drawn = self._rng.random(_DRAWN_AT_ONCE).tolist()
        return self._drawn.pop()


class Place(NamedTuple):
    """Where something is on the web, as its author thinks of it: nothing is escaped."""

    scheme: str
    host: str
    """With its port."""
    path: tuple[str, ...]
    """Segments; the last is empty for a folder."""
    query: str | None = None


def reference(dice: Dice, base: Place, target: Place) -> str:
    """A reference that leads from ``base`` to ``target``, or to the same place with a fragment."""
    short, whole = _forms(dice, base, target)
    written = dice.one_of(short if short and dice.chance(0.75) else whole)
    if dice.chance(0.15):
        written += dice.one_of(("#", "#f", "#ü", "#a?b", " #f", "#/../x"))
    if dice.chance(0.1):
        written = dice.one_of((" {}", "{} ", "\n{}\t", "\x0c{}", "\t {} \r\n")).format(written)
    if dice.chance(0.05) and len(written) > 1:
        cut = dice.between(1, len(written) - 1)
        written = written[:cut] + dice.one_of(("\t", "\n", "\r\n")) + written[cut:]
    return written


def _forms(dice: Dice, base: Place, target: Place) -> tuple[list[str], list[str]]:
    """Relative to its page or its origin, and with a host."""
    path = _path(dice, target.path)
    query = "" if target.query is None else f"?{_query(dice, target.query)}"
    host, name = target.host, target.scheme
    whole = [
        f"{name}://{host}/{path}{query}",
        f"{name.upper()}://{host.upper()}/{path}{query}",
        f"{name}:\\\\{host}\\{path}{query}",
        f"{name}:{host}/{path}{query}"
        if name != base.scheme
        else f"{name}:///{host}/{path}{query}",
    ]
    if ":" not in host:
        whole.append(f"{name}://{host}:{443 if name == 'https' else 80}/{path}{query}")
    if target.scheme != base.scheme:
        return [], whole
    whole += [f"//{host}/{path}{query}", f"//{host.title()}/./{path}{query}"]
    if host != base.host:
        return [], whole
    return _local(dice, base, target, path=path, query=query), whole


def _local(dice: Dice, base: Place, target: Place, *, path: str, query: str) -> list[str]:
    relative = _relative(dice, base.path, target.path)
    short = [f"/{path}{query}", f"/x/../{path}{query}", f"{base.scheme}:/{path}{query}"]
    short += [f"{form}{query}" for form in relative] * 3
    short += [f"{base.scheme}:{form}{query}" for form in relative[:1]]
    if target.path == base.path:
        if query:
            short += [query] * 4
        elif base.query is None:
            short += ["", "#top"] * 2
    return short


def _relative(dice: Dice, base: tuple[str, ...], target: tuple[str, ...]) -> list[str]:
    """From the folder of one path to another path."""
    here, there = base[:-1], target[:-1]
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    ups = len(here) - common
    rest = _path(dice, target[common:])
    forms = ["../" * ups + rest, "./" + "../" * ups + rest, "%2E%2e/" * ups + rest]
    if not ups:
        forms.append(f"x/../{rest}")
    if not here or ups == len(here):
        forms.append("../" * (ups + 1) + rest)  # above the root is the root
    bare = rest.partition("/")[0]
    plain = rest and not rest.startswith(("/", "\\")) and ":" not in bare
    return [form for form in forms if plain or form.startswith((".", "x", "%"))]


def _path(dice: Dice, segments: tuple[str, ...]) -> str:
    return "/".join(_segment(dice, segment) for segment in segments)


def _segment(dice: Dice, segment: str) -> str:
    match dice.below(6):
        case 0:  # all that may be is escaped
            return "".join(f"%{octet:02x}" for octet in segment.encode()) if segment else ""
        case 1:
            return quote(segment, safe="~!$&'()*+,;=@")
        case 2 if segment:  # one letter too many is escaped
            cut = dice.below(len(segment))
            letter = (
                quote(segment[cut]) if not segment[cut].isascii() else f"%{ord(segment[cut]):02X}"
            )
            return _safe(segment[:cut]) + letter + _safe(segment[cut + 1 :])
        case _:
            return _safe(segment)


def _safe(text: str) -> str:
    """As written by people who escape only what would not work."""
    return text.replace("%", "%25").replace("?", "%3F").replace("#", "%23").replace(":", "%3a")


def _query(dice: Dice, query: str) -> str:
    if dice.chance(0.15):
        return quote(query, safe="=&+?/")
    return query.replace("#", "%23")
