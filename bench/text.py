"""How well is main text found, and how fast? On pages whose main text is known.

    python -m bench.text [--pages 400] [--seed 1]
    python -m bench.text --labelled FOLDER

FOLDER is a clone of github.com/scrapinghub/article-extraction-benchmark: 181 articles of the web,
labelled by people. Without it, labelled pages are made: real prose (paragraphs of Debian's
postgresql-doc-15) in seven layouts,
with navigation, teasers, comments, cookie notices and footers of other real sentences around it:
with and without semantic elements, by tables, in lists, with code. What is to be found is known
to the word. Precision and recall are those of shingles of four words, as that benchmark reckons
them, a mean over pages, and F1 is theirs; beside it that of trafilatura called as its own
documentation does, and of all the text of the page. Speed is CPU of one core. Made pages are
kinder than the web's: the figures compare, they do not promise.
"""

from __future__ import annotations

import gzip
import html
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
import trafilatura
from bench.arguments import parser
from bench.bandwidth import REAL_PAGES

from headgate.reading.main_text import main_text

_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_LEAST_WORDS, _MOST_WORDS = 15, 120
SHINGLE = 4


@dataclass(frozen=True, slots=True)
class Labelled:
    """A page and what is to be found in it."""

    page: str
    text: str


def paragraphs(folder: Path) -> list[str]:
    """Prose, each once."""
    found: dict[str, None] = {}
    for path in sorted(folder.glob("*.html")):
        for match in _PARAGRAPH.finditer(path.read_text(encoding="utf-8", errors="replace")):
            text = " ".join(html.unescape(_TAG.sub(" ", match[1])).split())
            if _LEAST_WORDS <= len(text.split()) <= _MOST_WORDS:
                found[text] = None
    return list(found)


class Maker:
    """Draws pages; no paragraph is used twice in one."""

    def __init__(self, prose: list[str], seed: int) -> None:
        self._prose = prose
        self._rng = np.random.default_rng(seed)

    def page(self) -> Labelled:
        layout = LAYOUTS[int(self._rng.integers(len(LAYOUTS)))]
        drawn = iter(self._rng.choice(self._prose, 40, replace=False).tolist())
        title = " ".join(next(drawn).split()[:8])
        main = [next(drawn) for _ in range(int(self._rng.integers(3, 14)))]
        teasers = [" ".join(next(drawn).split()[:12]) for _ in range(8)]
        comments = [next(drawn) for _ in range(int(self._rng.integers(0, 4)))]
        body = layout(title, main, teasers, comments)
        page = (
            f"<!doctype html><html lang=en><head><title>{_text(title)}</title></head>{body}</html>"
        )
        return Labelled(page, " ".join(main))


def _text(words: str) -> str:
    return html.escape(words)


def _paragraphs(main: list[str]) -> str:
    return "\n".join(f"<p>{_text(text)}</p>" for text in main)


def _links(teasers: list[str], element: str = "li") -> str:
    return "".join(
        f"<{element}><a href='/{n}'>{_text(t)}</a></{element}>" for n, t in enumerate(teasers)
    )


def _comments(comments: list[str]) -> str:
    rows = "".join(
        f"<div class=comment><b>reader{n}</b><p>{_text(c)}</p></div>"
        for n, c in enumerate(comments)
    )
    return f"<div id=comments><h3>Comments</h3>{rows}</div>" if comments else ""


_NOTICE = (
    "<div class='cookie-banner'><p>We use cookies to make this site work and to see how it is used."
    " By going on you agree to our policy.</p><button>Accept all</button></div>"
)
_FOOTER = "<footer><p>© 2026 Example Ltd. All rights reserved. Terms of use. Privacy.</p></footer>"

Layout = Callable[[str, list[str], list[str], list[str]], str]


def _semantic(title: str, main: list[str], teasers: list[str], comments: list[str]) -> str:
    return (
        f"<body><header><nav><ul>{_links(teasers[:5])}</ul></nav></header><main><article>"
        f"<h1>{_text(title)}</h1>{_paragraphs(main)}</article></main>"
        f"<aside><h2>Related</h2><ul>{_links(teasers[5:])}</ul></aside>{_comments(comments)}{_FOOTER}"
    )


def _divisions(title: str, main: list[str], teasers: list[str], comments: list[str]) -> str:
    return (
        f"<body>{_NOTICE}<div class=menu>{_links(teasers, 'span')}</div><div id=content>"
        f"<h1>{_text(title)}</h1>{_paragraphs(main)}</div>{_comments(comments)}"
        f"<div class=footer><p>Contact. Imprint. Jobs. Press.</p></div>"
    )


def _table(title: str, main: list[str], teasers: list[str], comments: list[str]) -> str:
    return (
        f"<body><table><tr><td width=150>{_links(teasers, 'div')}</td><td><h2>{_text(title)}</h2>"
        f"{_paragraphs(main)}</td></tr></table>{_comments(comments)}"
    )


def _breaks(title: str, main: list[str], teasers: list[str], _: list[str]) -> str:
    text = "<br><br>\n".join(map(_text, main))
    return (
        f"<body><p>{_links(teasers[:4], 'i')}</p><h1>{_text(title)}</h1><div>{text}</div>{_FOOTER}"
    )


def _listed(title: str, main: list[str], teasers: list[str], comments: list[str]) -> str:
    items = "".join(f"<li>{_text(text)}</li>" for text in main[1:])
    return (
        f"<body><nav>{_links(teasers, 'span')}</nav><article><h1>{_text(title)}</h1>"
        f"<p>{_text(main[0])}</p><ol>{items}</ol></article>{_comments(comments)}{_FOOTER}"
    )


def _with_code(title: str, main: list[str], teasers: list[str], comments: list[str]) -> str:
    return (
        f"<body><div class=sidebar><ul>{_links(teasers)}</ul></div><div class=document role=main>"
        f"<h1>{_text(title)}</h1>{_paragraphs(main[:-1])}<pre><code>{_text(main[-1])}</code></pre>"
        f"</div>{_comments(comments)}{_FOOTER}"
    )


def _blog(title: str, main: list[str], teasers: list[str], comments: list[str]) -> str:
    share = "<div class=share>Share on one network. Share on another.</div>"
    return (
        f"<body>{_NOTICE}<div class=wrap><div class='post hentry'><h2 class=entry-title>"
        f"{_text(title)}</h2><div class=entry-content>{_paragraphs(main)}</div>{share}</div>"
        f"{_comments(comments)}<div class=widget><h3>Archive</h3><ul>{_links(teasers)}</ul></div>"
        "</div>"
    )


LAYOUTS: tuple[Layout, ...] = (
    _semantic, _divisions, _table, _breaks, _listed, _with_code, _blog,
)  # fmt: skip


def by_people(folder: Path) -> list[Labelled]:
    """Of the public benchmark."""
    labels = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    return [
        Labelled(
            gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes()).decode(),
            label["articleBody"],
        )
        for name, label in labels.items()
    ]


def scores(found: Sequence[str], pages: Sequence[Labelled]) -> tuple[float, float, float]:
    """Precision, recall and F1 of shingles; a page in which nothing was found has no precision."""
    precisions, recalls = [], []
    for text, labelled in zip(found, pages, strict=True):
        mine, right = _shingles(text), _shingles(labelled.text)
        both = (mine & right).total()
        precisions += [both / mine.total()] if mine else []
        recalls.append(both / right.total())
    precision, recall = mean(precisions), mean(recalls)
    return precision, recall, 2 * precision * recall / (precision + recall)


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    starts = range(max(len(words) - SHINGLE + 1, min(len(words), 1)))
    return Counter(tuple(words[start : start + SHINGLE]) for start in starts)


def by_headgate(page: str) -> str:
    return main_text(page, "http://example.org/", "text").text


def by_library(page: str) -> str:
    return trafilatura.extract(page) or ""


def all_text(page: str) -> str:
    return html.unescape(_TAG.sub(" ", page))


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--pages", type=int, default=400)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--labelled", type=Path, metavar="FOLDER")
    args = arguments.parse_args()
    if args.labelled is not None:
        pages = by_people(args.labelled)
    elif prose := paragraphs(REAL_PAGES):
        maker = Maker(prose, args.seed)
        pages = [maker.page() for _ in range(args.pages)]
    else:
        print("bench.text: apt-get install postgresql-doc-15 first")
        return 2
    print(f"{'':<22} {'precision':>9} {'recall':>7} {'F1':>6} {'pages/s':>8} {'MB/s':>6}")
    size = sum(len(labelled.page) for labelled in pages) / 1e6
    for name, extract in (
        ("Headgate", by_headgate), ("trafilatura, alone", by_library), ("all text", all_text),
    ):  # fmt: skip
        extract(pages[0].page)  # what is loaded at the first call is not counted
        before = time.process_time()
        found = [extract(labelled.page) for labelled in pages]
        seconds = time.process_time() - before
        precision, recall, score = scores(found, pages)
        print(
            f"{name:<22} {precision:9.3f} {recall:7.3f} {score:6.3f}"
            f" {len(pages) / seconds:8.0f} {size / seconds:6.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
