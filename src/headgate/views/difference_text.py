"""What has changed between two surveys, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headgate.surveying.difference import SurveyDifference

__all__ = ["difference_text"]

_SHOWN = 20


def difference_text(found: SurveyDifference) -> str:
    return "\n".join(_lines(found))


def _lines(found: SurveyDifference) -> Iterator[str]:
    yield from _part("servers gone", found.servers_gone)
    yield from _part("servers new", found.servers_new)
    moves = [f"{move.server}: {move.before} -> {move.after}" for move in found.servers_moved]
    yield from _part("servers moved", moves)
    yield from _part("servers not asked this time", found.servers_not_asked)
    yield from _part("links gone", [f"{link.server} -> {link.host}" for link in found.links_gone])
    yield from _part("links new", [f"{link.server} -> {link.host}" for link in found.links_new])
    yield f"links on pages that only one survey requested: {found.links_unsure:,}"


def _part(title: str, names: Sequence[str]) -> Iterator[str]:
    yield f"{title}: {len(names):,}"
    yield from (f"  {name}" for name in names[:_SHOWN])
    if len(names) > _SHOWN:
        yield f"  ... and {len(names) - _SHOWN:,} more (--json has all)"
