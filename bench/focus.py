"""Does a focus find what is relevant early? Real documentation, real crawls, many topics.

    python -m bench.focus [SITE ...]

nginx serves the documentation of Python, PostgreSQL and SQLite as Debian installs it. For each
topic ``headgate crawl --focus`` crawls the whole site; the order of the pages is the order in which
they were fetched. Beside it the orders breadth-first and links-in, which know of no topic.

Which pages are relevant is decided from the files, by a rule that is not the scorer's: a page is
about a topic if each of its words (or its plural) stands there three times or more, links left
out, and one of them in its title or in a heading. So indexes and contents, which are links, do not
count, nor do release notes that mention everything. Topics with fewer than five such pages are left
out.

A row says after which share of all fetches 80 % of the relevant pages were there. The last lines
are over topics together, all and only those that no weight was chosen on: the share of all relevant
pages that was there after 40 % of the fetches. Exit code 1 if that is below 80 % over all.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
from bench.arguments import parser
from bench.installed_documents import DOCUMENTS, install_missing, serving
from rich.console import Console
from rich.table import Table

CONSOLE = Console(width=100)
HEADGATE = [sys.executable, "-m", "headgate", "crawl"]
TOPICS = {
    "python": (
        "regular expression", "socket", "unicode encoding", "date time", "xml parsing", "asyncio",
        "subprocess", "import module loader", "exception traceback", "type hints", "thread lock",
        "email message",
    ),
    "postgresql": (
        "replication", "index scan", "backup restore", "json", "full text search",
        "transaction isolation", "authentication password", "vacuum", "foreign key",
        "trigger function", "partition", "ssl certificate",
    ),
    "sqlite": (
        "full text search", "virtual table", "write ahead log", "query planner", "json", "backup",
        "window function", "transaction lock", "memory allocation", "foreign key",
        "testing coverage", "collation",
    ),
}  # fmt: skip
"""Those at hand when the scorer's weights were settled."""
FRESH = {
    "python": (
        "logging handler", "random numbers", "command line arguments", "garbage collection",
        "http server", "zip archive", "decimal arithmetic", "file path", "generator iterator",
        "unit test", "process pool", "locale",
    ),
    "postgresql": (
        "large object", "logical decoding", "row security", "extended statistics", "cursor",
        "tablespace", "recovery archive", "materialized view", "inheritance", "range type",
        "parallel query", "collation",
    ),
    "sqlite": (
        "date time", "rtree", "error code", "shared cache", "temporary file", "locking mode",
        "compile option", "blob", "generated column", "expression index", "pragma", "session",
    ),
}  # fmt: skip
"""Chosen after that, and never looked at before."""
WANTED_SHARE = 0.8
FETCHED_SHARE = 0.4
LEAST_RELEVANT = 5
TIMES = 3
HEADINGS = frozenset(("title", "h1", "h2", "h3", "h4"))
UNSEEN = frozenset(("script", "style"))


class OwnText(HTMLParser):
    """A page's text outside of links, and its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.headings: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in HEADINGS or tag in UNSEEN or (tag == "a" and dict(attrs).get("href")):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if UNSEEN.isdisjoint(self._inside):
            if not HEADINGS.isdisjoint(self._inside):
                self.headings.append(data)
            if "a" not in self._inside:
                self.text.append(data)


@dataclass(frozen=True, slots=True)
class Document:
    text: str
    headings: str

    def is_about(self, topic: str) -> bool:
        forms = [re.compile(rf"\b{word}(?:s|es)?\b", re.IGNORECASE) for word in topic.split()]
        return all(len(form.findall(self.text)) >= TIMES for form in forms) and any(
            form.search(self.headings) for form in forms
        )


def main() -> int:
    options = parser(__doc__)
    options.add_argument("sites", metavar="SITE", nargs="*", help=f"of {', '.join(TOPICS)}; all")
    sites = options.parse_args().sites
    if unknown := set(sites) - set(TOPICS):
        options.error(f"no such site: {', '.join(sorted(unknown))}")
    install_missing()
    table = Table("site", "topic", "relevant", "topic order", "links-in", "breadth-first")
    found = {lot: Counter[str]() for lot in ("all", "fresh")}
    with tempfile.TemporaryDirectory(prefix="headgate-") as name, serving(Path(name)) as web:
        for site in sites or TOPICS:
            folder = Path(name) / site
            plain = {
                order: fetched(web.seeds[site], folder / order, "--order", order)
                for order in ("links-in", "breadth-first")
            }
            documents = {url: document(site, url) for url in plain["breadth-first"]}
            for topic in (*TOPICS[site], *FRESH[site]):
                relevant = {url for url, page in documents.items() if page.is_about(topic)}
                if len(relevant) < LEAST_RELEVANT:
                    continue
                asked = fetched(web.seeds[site], folder / topic, "--focus", topic)
                orders = {"topic": asked, **plain}
                shares = [f"{share_until(order, relevant):.0%}" for order in orders.values()]
                table.add_row(site, topic, str(len(relevant)), *shares)
                early = {
                    order: len(relevant.intersection(urls[: int(FETCHED_SHARE * len(urls))]))
                    for order, urls in orders.items()
                }
                for lot in ("all", "fresh") if topic in FRESH[site] else ("all",):
                    found[lot].update(early, relevant=len(relevant))
    CONSOLE.print(table)
    for lot, counts in found.items():
        whole = counts["relevant"]
        shares = [f"{order} {count / whole:.1%}" for order, count in counts.items()][:-1]
        print(f"{lot} topics: of {whole} relevant pages after {FETCHED_SHARE:.0%} of the fetches:",
              *shares)  # fmt: skip
    return 0 if found["all"]["topic"] >= WANTED_SHARE * found["all"]["relevant"] else 1


def fetched(seed: str, out: Path, *options: str) -> list[str]:
    """The pages of a crawl in the order of their fetches."""
    words = [*HEADGATE, seed, *options, "--out", str(out), "--quiet"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    (path,) = out.glob("runs/*/pages.parquet")
    columns = ["url", "role", "status", "fetched_at"]
    rows = pq.read_table(path, columns=columns).to_pylist()
    pages = [row for row in rows if row["role"] == "page" and row["status"] == 200]
    return [row["url"] for row in sorted(pages, key=lambda row: row["fetched_at"])]


def document(site: str, url: str) -> Document:
    path = DOCUMENTS[site][1] / unquote(urlsplit(url).path).lstrip("/")
    path = path / "index.html" if path.is_dir() else path
    if path.suffix != ".html":
        return Document("", "")
    parser = OwnText()
    parser.feed(path.read_text(encoding="utf-8", errors="replace"))
    return Document(" ".join(parser.text), " ".join(parser.headings))


def share_until(order: Sequence[str], relevant: set[str]) -> float:
    """Of the fetches, until most of the relevant pages were there."""
    wanted = math.ceil(WANTED_SHARE * len(relevant))
    places = [place for place, url in enumerate(order, 1) if url in relevant]
    return places[wanted - 1] / len(order)


if __name__ == "__main__":
    sys.exit(main())
