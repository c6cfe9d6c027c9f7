"""Bars over time, piled up by kind; what a bar holds is told where the pointer is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from headgate.views.chart import for_any_screen
from headgate.views.markup import Markup, element, joined
from headgate.views.plane import NARROW, WIDE, Axis, Line, Plane, legend

__all__ = ["Pile", "stacked_bars"]

_GAP = 0.12
_HEADROOM = 1.08


@dataclass(frozen=True, slots=True)
class Pile:
    """One bar."""

    start: float
    end: float
    parts: Sequence[float]
    """As many as there are kinds, the lowest first."""
    when: str
    """In words."""


def stacked_bars(
    title: str,
    across: Axis,
    kinds: Sequence[tuple[str, str]],
    piles: Sequence[Pile],
    write: Callable[[float], str],
) -> Markup:
    """``kinds`` are names and colours (classes of the style sheet), ``write`` words an amount."""
    highest = max((sum(pile.parts) for pile in piles), default=0.0) or 1.0
    up = Axis(0.0, highest * _HEADROOM, "", write)
    wide, narrow = (
        plane.chart(title, (part for pile in piles for part in _bar(plane, pile, kinds, write)))
        for plane in (Plane(WIDE, across, up), Plane(NARROW, across, up))
    )
    names = legend([Line(name, (), colour) for name, colour in kinds])
    return joined((names, for_any_screen(wide, narrow)))


def _bar(
    plane: Plane, pile: Pile, kinds: Sequence[tuple[str, str]], write: Callable[[float], str]
) -> Iterator[Markup]:
    left, right = plane.x(pile.start), plane.x(pile.end)
    gap = _GAP * (right - left)
    low = 0.0
    for (_, colour), amount in zip(kinds, pile.parts, strict=True):
        if amount:
            top, bottom = plane.y(low + amount), plane.y(low)
            yield element(
                "rect", class_=f"{colour} band", x=left + gap / 2, y=top,
                width=max(right - left - gap, 0.5), height=max(bottom - top, 0.3),
            )  # fmt: skip
        low += amount
    frame = plane.frame
    yield element(
        "rect", class_="column", x=left, y=frame.top, width=max(right - left, 0.5),
        height=frame.height, data_tip=_words(pile, kinds, write),
    )  # fmt: skip


def _words(pile: Pile, kinds: Sequence[tuple[str, str]], write: Callable[[float], str]) -> Markup:
    """Several lines; the names are escaped one by one, so that the line breaks stay."""
    parts = zip(kinds, pile.parts, strict=True)
    lines = [pile.when, *(f"{write(amount)}  {name}" for (name, _), amount in parts if amount)]
    return joined(lines, "\n")
