"""Which hosts that a survey finds become starting URLs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headgate.model.errors import UserMistake
from headgate.reading.urls import host
from headgate.surveying.domains import is_internal

__all__ = ["ALL", "NONE", "SurveyScope"]


@dataclass(frozen=True, slots=True)
class SurveyScope:
    """Which external hosts become starting URLs themselves."""

    suffixes: tuple[str, ...] = ()
    """Domains, without a leading dot; empty: none."""
    everywhere: bool = False

    @classmethod
    def parse(cls, text: str, starts: Iterable[str]) -> SurveyScope:
        """``.ke,.tz``, ``all``, ``none``, or ``same``: the top-level domains of the list itself.

        >>> SurveyScope.parse(".ke, tz", ()).suffixes, SurveyScope.parse("same", ["http://a.org/"]).suffixes
        (('ke', 'tz'), ('org',))
        """
        match text.strip().lower():
            case "all":
                return ALL
            case "none":
                return cls()
            case "same":
                tops = {host(start).rpartition(".")[2] for start in starts}
                return cls(tuple(sorted(top for top in tops if not top.isdigit())))
            case listed:
                suffixes = tuple(part.strip().strip(".") for part in listed.split(","))
                if not all(suffixes):
                    raise UserMistake(
                        f"--scope {text!r} has an empty part; write it like '.ke,.tz', "
                        "'same', 'all' or 'none'"
                    )
                return cls(suffixes)

    def holds(self, name: str) -> bool:
        return self.everywhere or any(is_internal(name, suffix) for suffix in self.suffixes)


NONE = SurveyScope()
ALL = SurveyScope(everywhere=True)
