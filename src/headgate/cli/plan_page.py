"""A plan as one HTML page that needs nothing else: the answer, the picture, the table."""

from __future__ import annotations

from html import escape

from headgate.cli.gantt import worth_showing
from headgate.cli.plan_words import PlanWords, duration_at_least
from headgate.model.plan import Plan, PlannedSite
from headgate.model.units import format_duration, format_rate, format_size

__all__ = ["page"]

_MOST_ROWS = 1000
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; }
h1 { font-size: 1.3rem; } h1.feasible { color: #1b6b2b; } h1.infeasible { color: #a03000; }
h1.open { color: #7a5c00; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .8rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.late { color: #a03000; font-weight: bold; }
"""


def page(plan: Plan, svg: str, began: str = "") -> str:
    """The page round a picture of the plan."""
    words = PlanWords.of(plan)
    picture = svg[svg.index("<svg") :]
    return f"""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{escape(words.headline)}</title>
<style>{_STYLE}</style>
<h1 class="{plan.verdict}">{escape(words.headline)}</h1>
{_paragraph(words.outcome)}{_list("What would make it feasible, one of these:", words.remedies)}
{_list(f"Planned by {plan.policy}{began}:", words.quality)}
{picture}
{_table(plan)}
</html>
"""


def _paragraph(sentence: str) -> str:
    return f"<p>{escape(sentence)}</p>\n" if sentence else ""


def _list(heading: str, items: tuple[str, ...]) -> str:
    if not items:
        return ""
    return f"<p>{escape(heading)}</p>\n<ul>{''.join(f'<li>{escape(item)}' for item in items)}</ul>"


def _table(plan: Plan) -> str:
    sites = worth_showing(plan.sites, _MOST_ROWS)
    names = ("site", "size", "mean rate", "start", "end", "deadline", "slack")
    header = "".join(f"<th>{name}" for name in names)
    left_out = len(plan.sites) - len(sites)
    more = f"<p>… {left_out:,} more sites; <code>--json</code> has them all</p>" if left_out else ""
    rows = "\n".join(_row(site) for site in sites)
    return f"<table>\n<tr>{header}\n{rows}\n</table>\n{more}"


def _row(site: PlannedSite) -> str:
    seconds = sum(segment.end - segment.start for segment in site.segments)
    amount = sum((segment.end - segment.start) * segment.rate for segment in site.segments)
    cells = [
        escape(site.name),
        format_size(site.bytes),
        format_rate(amount / seconds) if seconds else "",
        format_duration(site.start),
        format_duration(site.end),
        "" if site.deadline is None else format_duration(site.deadline),
        "" if site.slack is None else format_duration(site.slack),
    ]
    if site.late:
        cells[-1] = f'<span class="late">late {duration_at_least(site.late)}</span>'
    return "<tr>" + "".join(f"<td>{cell}" for cell in cells)
