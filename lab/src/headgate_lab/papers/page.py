"""The report: one page of all chapters, and what their parts are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headgate.report.html_page import document
from headgate.report.markup import Markup, element, joined
from headgate_lab.papers.chapter import Chapter
from headgate_lab.papers.claim import Claim

__all__ = ["claims_list", "counted", "folded", "lab_page", "row", "rows_table", "side_by_side"]

_INTRODUCTION = (
    "What the papers behind Headgate say, and what is found when their systems are built again:"
    " figures and tables with the paper's numbers, where it prints them, beside ours, and each"
    " claim with its verdict."
)
_FIRST_LOOK = (
    "This is a first look: few and small instances, on which verdicts may turn out otherwise than"
    " in a full run."
)


def lab_page(chapters: Sequence[tuple[Chapter, float]], *, quick: bool = False) -> str:
    """Chapters with the seconds that each took; the whole file."""
    title = chapters[0][0].title if len(chapters) == 1 else "The papers, reproduced"
    header = element(
        "header",
        element("p", "Headgate, the lab", class_="kicker"),
        element("h1", title),
        element("p", _INTRODUCTION, class_="amounts"),
        *([element("p", _FIRST_LOOK, class_="amounts")] if quick else []),
    )
    parts = (
        header,
        _contents([chapter for chapter, _ in chapters]),
        _summary(chapters),
        *(_chapter(chapter, seconds) for chapter, seconds in chapters),
    )
    return document(f"{title} – Headgate", joined(parts, "\n"))


def _contents(chapters: Sequence[Chapter]) -> Markup:
    links = [element("a", chapter.paper, href=f"#{chapter.paper}") for chapter in chapters]
    return element("nav", *links, class_="contents", aria_label="papers")


def _summary(chapters: Sequence[tuple[Chapter, float]]) -> Markup:
    rows = [
        element(
            "tr",
            element("td", element("a", chapter.paper, href=f"#{chapter.paper}")),
            element("td", f"{chapter.held} of {len(chapter.claims)}"),
            element("td", _lasted(seconds)),
            element("td", chapter.title, class_="words"),
        )
        for chapter, seconds in chapters
    ]
    table = rows_table(("paper", "claims that hold", "took", ""), rows)
    return element("section", element("h2", "Verdicts"), table)


def _chapter(chapter: Chapter, seconds: float) -> Markup:
    links = (
        element("a", part.heading, href=f"#{chapter.paper}-{number}")
        for number, part in enumerate(chapter.parts, start=1)
    )
    return element(
        "article",
        element("h2", chapter.title, class_="chapter"),
        element("p", chapter.introduction, class_="amounts"),
        element("p", f"{chapter.lots}; took {_lasted(seconds)}.", class_="note"),
        element("nav", *links, class_="parts", aria_label=f"parts of {chapter.paper}"),
        *_parts(chapter),
        id=chapter.paper,
    )


def _parts(chapter: Chapter) -> Iterator[Markup]:
    for number, part in enumerate(chapter.parts, start=1):
        yield element(
            "section",
            element("h3", part.heading),
            *([element("p", part.note, class_="note")] if part.note else []),
            part.content,
            id=f"{chapter.paper}-{number}",
        )


def _lasted(seconds: float) -> str:
    """
    >>> _lasted(4.2), _lasted(71), _lasted(4000)
    ('4 s', '1 min 11 s', '66 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 10:
        return f"{minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def rows_table(heads: Iterable[str], rows: Sequence[Markup]) -> Markup:
    """Rows are made by `row`."""
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in heads)))
    return element("div", element("table", head, element("tbody", *rows)), class_="scroll")


def side_by_side(*parts: Markup) -> Markup:
    """Where the screen is wide enough; each part has all that belongs to it."""
    return element("div", *(element("div", part) for part in parts), class_="pairs")


def folded(what: str, content: Markup) -> Markup:
    """Shown when it is asked for."""
    return element("details", element("summary", what), content)


def counted(number: int, one: str, many: str) -> str:
    """
    >>> counted(1, "web", "webs"), counted(20, "web", "webs")
    ('1 web', '20 webs')
    """
    return f"{number} {one if number == 1 else many}"


def row(name: str, *cells: str, ours: bool = False, words: str = "") -> Markup:
    """A name and figures; ``words`` are a last cell that may be long."""
    return element(
        "tr",
        element("td", name),
        *(element("td", cell) for cell in cells),
        *([element("td", words, class_="words")] if words else []),
        class_="ours" if ours else None,
    )


def claims_list(claims: Iterable[Claim]) -> Markup:
    """Each with its verdict and why."""
    items = [
        element(
            "li",
            element(
                "span",
                "holds" if claim.holds else "does not hold",
                class_="verdict met" if claim.holds else "verdict late",
            ),
            element("span", claim.text, class_="claim"),
            element("span", f"{claim.where}. Here: {claim.numbers}", class_="why"),
        )
        for claim in claims
    ]
    return element("ul", *items, class_="claims")
