"""The frame of a reproduction's page: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from headgate.lab.papers.claim import Claim

__all__ = ["claims_table", "page", "table"]

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


def page(title: str, body: str) -> str:
    """The whole file."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{body}</body></html>\n"
    )


def table(heads: Iterable[str], rows: Iterable[str]) -> str:
    """Heads are text, rows are whole rows of HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def claims_table(title: str, claims: Iterable[Claim]) -> str:
    """``title`` says whose claims they are."""
    return table(
        ("where", title, "", "here"),
        (
            f'<tr><td>{escape(claim.where)}</td><td class="text">{escape(claim.text)}</td>'
            f'<td class="{"yes" if claim.holds else "no"}">'
            f"{'holds' if claim.holds else 'does not hold'}</td>"
            f'<td class="text">{escape(claim.numbers)}</td></tr>'
            for claim in claims
        ),
    )
