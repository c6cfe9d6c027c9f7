"""The reproduction as one HTML page that needs nothing else: tables, and the figures as SVG."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from headgate.lab.papers.zhu2020.comparison import mean_outcome
from headgate.lab.papers.zhu2020.figures import Figure
from headgate.lab.papers.zhu2020.plots import figure_svg
from headgate.lab.papers.zhu2020.reference import FIGURES_OF_MERIT
from headgate.lab.papers.zhu2020.reproduction import Reproduction
from headgate.planning.policies import DEFAULT_POLICY

__all__ = ["report_html"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
       color: #1b1f24; background: #fff; }
h1, h2 { line-height: 1.2; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #d5dae0; text-align: right; }
th:first-child, td:first-child, td.text { text-align: left; }
tr.ours { background: #eaf3ea; font-weight: 600; }
td.yes { color: #1a6b2c; } td.no { color: #a32020; }
figure { margin: 2rem 0; } figcaption { font-weight: 600; } svg { max-width: 100%; height: auto; }
"""


def report_html(reproduction: Reproduction) -> str:
    """The whole page."""
    body = "\n".join(
        [
            "<h1>Zhu et al. 2020, reproduced</h1>",
            _introduction(reproduction),
            "<h2>What the paper says, and what is found</h2>",
            _claims_table(reproduction),
            "<h2>Six sites</h2>",
            _six_sites_tables(reproduction),
            *(_figure_html(figure) for figure in reproduction.figures if figure.number <= 7),
            "<h2>Fifty sites, five crawlers</h2>",
            _checks(reproduction),
            *(_figure_html(figure) for figure in reproduction.figures if figure.number > 7),
            _comparison_table(reproduction),
            "<h2>Beside results obtained independently</h2>",
            _references_table(reproduction),
        ]
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Zhu et al. 2020, reproduced</title><style>{_STYLE}</style></head>\n"
        f"<body>{body}</body></html>\n"
    )


def _introduction(reproduction: Reproduction) -> str:
    return (
        "<p>Bandwidth allocation for a web crawler system with time constraints. Means of"
        f" {reproduction.instances} instances, half as many with caps; seed {reproduction.seed}."
        " The paper prints no deadlines and its plots have lost their values: what can be compared"
        f" are the orderings and trends its text claims. <b>{DEFAULT_POLICY}</b> is this project's"
        " own policy.</p>"
    )


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _row(name: str, *values: float, digits: int = 1) -> str:
    mark = ' class="ours"' if DEFAULT_POLICY in name else ""
    cells = "".join(f"<td>{value:,.{digits}f}</td>" for value in values)
    return f"<tr{mark}><td>{escape(name)}</td>{cells}</tr>"


def _claims_table(reproduction: Reproduction) -> str:
    return _table(
        ("where", "the paper says", "", "here"),
        (
            f'<tr><td>{escape(claim.where)}</td><td class="text">{escape(claim.text)}</td>'
            f'<td class="{"yes" if claim.holds else "no"}">'
            f"{'holds' if claim.holds else 'does not hold'}</td>"
            f'<td class="text">{escape(claim.numbers)}</td></tr>'
            for claim in reproduction.claims
        ),
    )


def _six_sites_tables(reproduction: Reproduction) -> str:
    enough = _table(
        ("1000 kbit/s, Eq. 1 asks for 950", "latest end (s)", "sum of times (s)"),
        (_row(r.policy, r.max_time, r.total_time) for r in reproduction.sufficient),
    )
    too_little = _table(
        ("1000 kbit/s, Eq. 1 asks for 1300", "total lateness (s)"),
        (_row(r.policy, r.lateness) for r in reproduction.insufficient),
    )
    return enough + too_little


def _checks(reproduction: Reproduction) -> str:
    lines = [
        f"<li>Family P, {tenth.bandwidth:.0f} kbit/s: {tenth.default:.1f} s late in all, against"
        f" {tenth.re_alloc:.1f} s of ReAlloc-MAXT"
        f" ({'below' if tenth.holds else 'not below'} a tenth)</li>"
        for tenth in reproduction.tenths
    ]
    lines += [
        f"<li>{escape(count.caps)}: on {count.kept} of {count.instances} instances never later than"
        f" any of the paper's policies{escape(_broken(count.broken_by))}</li>"
        for count in reproduction.never_worse
    ]
    return f"<ul>{''.join(lines)}</ul>"


def _broken(policies: tuple[str, ...]) -> str:
    return f" (beaten by {', '.join(policies)})" if policies else ""


def _comparison_table(reproduction: Reproduction) -> str:
    heads = ("family, caps, kbit/s, policy", "lateness (s)", "makespan (s)", "sum of times (s)")
    rows = []
    for cell, by_policy in reproduction.comparison.items():
        for policy, outcomes in by_policy.items():
            mean = mean_outcome(outcomes)
            rows.append(
                _row(
                    f"{cell.family}, {cell.caps}, {cell.bandwidth:.0f}, {policy}",
                    *(mean.lateness, mean.makespan, mean.total_time),
                    *(mean.on_time_percent, mean.obj1, mean.obj2),
                )
            )
    return _table((*heads, "on time (%)", "objective 1", "objective 2"), rows)


def _references_table(reproduction: Reproduction) -> str:
    heads = [figure.replace("_", " ") for figure in FIGURES_OF_MERIT]
    rows = []
    for row in reproduction.references:
        pairs = [row.figures.get(figure) for figure in FIGURES_OF_MERIT]
        cells = "".join(
            "<td></td>"
            if pair is None
            else f"<td>{pair[0]:g} / {pair[1]:.{_digits(pair[0])}f}</td>"
            for pair in pairs
        )
        rows.append(f"<tr><td>{escape(row.instance)}, {escape(row.policy)}</td>{cells}</tr>")
    return "<p>Reference / ours.</p>" + _table(("instance, policy", *heads), rows)


def _digits(value: float) -> int:
    return 0 if value >= 1000 else 1 if value >= 20 else 2


def _figure_html(figure: Figure) -> str:
    caption = f"Fig. {figure.number}: {figure.title}"
    return f"<figure>{figure_svg(figure)}<figcaption>{escape(caption)}</figcaption></figure>"
