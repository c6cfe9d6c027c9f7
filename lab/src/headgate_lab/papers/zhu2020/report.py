"""The reproduction as a chapter of the report: tables, and the figures."""

from __future__ import annotations

from headgate.report.markup import Markup, element, joined
from headgate.scheduling.policies import DEFAULT_POLICY
from headgate_lab.papers.chapter import Chapter, Part
from headgate_lab.papers.page import claims_list, counted, folded, row, rows_table, side_by_side
from headgate_lab.papers.zhu2020.comparison import mean_outcome
from headgate_lab.papers.zhu2020.figures import Figure
from headgate_lab.papers.zhu2020.plots import panel_chart, real_crawls_charts
from headgate_lab.papers.zhu2020.random_six_rows import RANDOM_SIX_COLUMNS, random_six_rows
from headgate_lab.papers.zhu2020.real_crawls import CRAWLS, MEASURED, alpha
from headgate_lab.papers.zhu2020.reference import FIGURES_OF_MERIT
from headgate_lab.papers.zhu2020.reference_chart import six_sites_charts
from headgate_lab.papers.zhu2020.reproduction import Reproduction, as_json

__all__ = ["chapter"]


_INTRODUCTION = (
    "Bandwidth allocation for a web crawler system with time constraints. The paper prints no"
    " deadlines and its plots have lost their values: what can be compared are the orderings and"
    f" trends its text claims. {DEFAULT_POLICY} is this project's own policy."
)


def chapter(reproduction: Reproduction) -> Chapter:
    parts = (
        Part(
            "What the paper says, and what is found",
            claims_list(reproduction.claims),
        ),
        Part(
            "Six sites",
            joined(
                (_six_sites_tables(reproduction), side_by_side(*six_sites_charts(reproduction)))
            ),
        ),
        Part(
            "Six sites, random deadlines",
            _random_six_tables(reproduction),
            "The deadlines above were fitted to results obtained independently. These are U(1, 4)"
            " of one time: mean ± standard deviation, and the independent result.",
        ),
        *(_figure(figure) for figure in reproduction.figures if figure.number <= 7),
        Part("Fifty sites, five crawlers", _checks(reproduction)),
        *(_figure(figure) for figure in reproduction.figures if figure.number > 7),
        Part(
            "Fig. 11 and 12: real crawls",
            joined((side_by_side(*real_crawls_charts()), _alphas())),
            "Time against rate, and against data; dashed: payload over rate. Three documentation"
            f" sites crawled by python -m bench.site_times, {MEASURED}.",
        ),
        Part("All policies", _comparison_table(reproduction)),
        Part(
            "Beside results obtained independently",
            _references_table(reproduction),
            "Reference / ours.",
        ),
    )
    return Chapter(
        "zhu2020",
        "Zhu et al. 2020: rates for sites with deadlines",
        introduction=_INTRODUCTION,
        lots=(
            f"Means of {counted(reproduction.instances, 'instance', 'instances')}, half as many"
            f" with caps; seed {reproduction.seed}"
        ),
        claims=reproduction.claims,
        parts=parts,
        document=as_json(reproduction),
    )


def _row(name: str, *values: float) -> Markup:
    return row(name, *(f"{value:,.1f}" for value in values), ours=DEFAULT_POLICY in name)


def _six_sites_tables(reproduction: Reproduction) -> Markup:
    enough = rows_table(
        ("1000 kbit/s, Eq. 1 asks for 950", "latest end (s)", "sum of times (s)"),
        [_row(r.policy, r.max_time, r.total_time) for r in reproduction.sufficient],
    )
    too_little = rows_table(
        ("1000 kbit/s, Eq. 1 asks for 1300", "total lateness (s)"),
        [_row(r.policy, r.lateness) for r in reproduction.insufficient],
    )
    return side_by_side(enough, too_little)


def _random_six_tables(reproduction: Reproduction) -> Markup:
    return side_by_side(
        *(
            rows_table((f"1000 kbit/s, Eq. 1 asks for {asked}", *heads), rows)
            for asked, heads, rows in (
                (
                    asked,
                    [head for name in names for head in (f"{name} (s)", "independently")],
                    [
                        row(line[0], *line[1:], ours=line[0] == DEFAULT_POLICY)
                        for line in random_six_rows(reproduction, asked)
                    ],
                )
                for asked, names in RANDOM_SIX_COLUMNS.items()
            )
        )
    )


def _alphas() -> Markup:
    rows = []
    for kind in dict.fromkeys(one.kind for one in CRAWLS):
        whole = max((one for one in CRAWLS if one.kind == kind), key=lambda one: one.payload)
        rows.append(
            row(kind, f"{whole.pages:,}", f"{whole.payload / 1e6:.2f}", f"{alpha(kind):.3f}")
        )
    return rows_table(("site", "pages", "MB", "α of Eq. 17"), rows)


def _checks(reproduction: Reproduction) -> Markup:
    lines = [
        f"Family P, {tenth.bandwidth:.0f} kbit/s: {tenth.default:.1f} s late in all, against"
        f" {tenth.re_alloc:.1f} s of ReAlloc-MAXT"
        f" ({'below' if tenth.holds else 'not below'} a tenth)"
        for tenth in reproduction.tenths
    ]
    lines += [
        f"{count.caps}: on {count.kept} of {count.instances} instances never later than"
        f" any of the paper's policies{_broken(count.broken_by)}"
        for count in reproduction.never_worse
    ]
    return element("ul", *(element("li", line) for line in lines))


def _broken(policies: tuple[str, ...]) -> str:
    return f" (beaten by {', '.join(policies)})" if policies else ""


def _comparison_table(reproduction: Reproduction) -> Markup:
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
    table = rows_table((*heads, "on time (%)", "objective 1", "objective 2"), rows)
    return folded(f"{len(rows)} rows: each family, with and without caps, by each policy", table)


def _references_table(reproduction: Reproduction) -> Markup:
    heads = [figure.replace("_", " ") for figure in FIGURES_OF_MERIT]
    rows = []
    for found in reproduction.references:
        pairs = [found.figures.get(figure) for figure in FIGURES_OF_MERIT]
        cells = [
            "" if pair is None else f"{pair[0]:g} / {pair[1]:.{_digits(pair[0])}f}"
            for pair in pairs
        ]
        rows.append(row(f"{found.instance}, {found.policy}", *cells))
    return rows_table(("instance, policy", *heads), rows)


def _digits(value: float) -> int:
    return 0 if value >= 1000 else 1 if value >= 20 else 2


def _figure(shown: Figure) -> Part:
    charts = (panel_chart(shown, panel) for panel in shown.panels)
    return Part(f"Fig. {shown.number}: {shown.title}", side_by_side(*charts))
