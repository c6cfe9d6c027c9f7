"""A paper's reproduction as a chapter of the report: its parts, its claims, its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headgate.report.markup import Markup
from headgate_lab.papers.claim import Claim

__all__ = ["Chapter", "Part"]


@dataclass(frozen=True, slots=True)
class Part:
    heading: str
    content: Markup
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chapter:
    paper: str
    title: str
    introduction: str
    lots: str
    """Seeds and how many instances, in words."""
    claims: Sequence[Claim]
    """All of them, those of the paper and those of Headgate."""
    parts: Sequence[Part]
    document: dict[str, Any]
    """All numbers, of figures too."""

    @property
    def held(self) -> int:
        return sum(claim.holds for claim in self.claims)
