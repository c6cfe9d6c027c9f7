"""The reproduction as one HTML page that needs nothing else: tables, and the figures as SVG."""

from __future__ import annotations

from html import escape

from headgate.lab.papers.page import claims_table, page, table
from headgate.lab.papers.zhu2020.comparison import mean_outcome
from headgate.lab.papers.zhu2020.figures import Figure
from headgate.lab.papers.zhu2020.plots import figure_svg
from headgate.lab.papers.zhu2020.reference import FIGURES_OF_MERIT
from headgate.lab.papers.zhu2020.reproduction import Reproduction
from headgate.planning.policies import DEFAULT_POLICY

__all__ = ["report_html"]


def report_html(reproduction: Reproduction) -> str:
    """The whole page."""
    body = "\n".join(
        [
            _introduction(reproduction),
            "<h2>What the paper says, and what is found</h2>",
            claims_table("the paper says", reproduction.claims),
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
    return page("Zhu et al. 2020, reproduced", body)


def _introduction(reproduction: Reproduction) -> str:
    return (
        "<p>Bandwidth allocation for a web crawler system with time constraints. Means of"
        f" {reproduction.instances} instances, half as many with caps; seed {reproduction.seed}."
        " The paper prints no deadlines and its plots have lost their values: what can be compared"
        f" are the orderings and trends its text claims. <b>{DEFAULT_POLICY}</b> is this project's"
        " own policy.</p>"
    )


def _row(name: str, *values: float, digits: int = 1) -> str:
    mark = ' class="ours"' if DEFAULT_POLICY in name else ""
    cells = "".join(f"<td>{value:,.{digits}f}</td>" for value in values)
    return f"<tr{mark}><td>{escape(name)}</td>{cells}</tr>"


def _six_sites_tables(reproduction: Reproduction) -> str:
    enough = table(
        ("1000 kbit/s, Eq. 1 asks for 950", "latest end (s)", "sum of times (s)"),
        (_row(r.policy, r.max_time, r.total_time) for r in reproduction.sufficient),
    )
    too_little = table(
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
    return table((*heads, "on time (%)", "objective 1", "objective 2"), rows)


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
    return "<p>Reference / ours.</p>" + table(("instance, policy", *heads), rows)


def _digits(value: float) -> int:
    return 0 if value >= 1000 else 1 if value >= 20 else 2


def _figure_html(figure: Figure) -> str:
    caption = f"Fig. {figure.number}: {figure.title}"
    return f"<figure>{figure_svg(figure)}<figcaption>{escape(caption)}</figcaption></figure>"
