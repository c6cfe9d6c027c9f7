"""A sentence of a paper, and whether it holds here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Claim"]


@dataclass(frozen=True, slots=True)
class Claim:
    where: str
    """Section and figure of the paper."""
    text: str
    holds: bool
    numbers: str
