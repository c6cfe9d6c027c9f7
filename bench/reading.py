"""What reading costs. Run: python -m bench.reading [--pages DIR] [--robots TAR.GZ]

Prints, in one run, beside those peers that are installed:

1. references of real pages to absolute URLs in normal form, µs each;
2. pages to links, title, base, canonical and robots words, ms each, by the size of the page;
3. pages made to be expensive, seconds each; a cell in red takes a second or more;
4. content codings, decoding, digests and what counts as a change, µs for one page;
5. robots files and questions to them, µs each;
6. a sitemap of 50,000 entries, ms.

Pages are those of a folder of HTML, by default Debian's python3-doc (apt-get install python3-doc).
All peers for links join with our resolver, so that only the reading differs. Each cell is the least
CPU time of several rounds, in which all take turns: what is printed is the code, not the machine's
mood. For all peers: pip install can_ada lxml parsel protego selectolax turbohtml w3lib yarl zlib-ng
"""

from __future__ import annotations

import argparse
import gzip
import html.parser
import tarfile
import time
import urllib.parse
import urllib.robotparser
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import brotli
from backports import zstd
from rich.console import Console
from rich.table import Table

from headgate.reading import tags
from headgate.reading.change_detection import Noise, counted_digest
from headgate.reading.charset import decode
from headgate.reading.content_coding import decode_content
from headgate.reading.digests import content_digest
from headgate.reading.links import References, page_links
from headgate.reading.robots import RobotsRules
from headgate.reading.sitemaps import read_sitemap
from headgate.reading.urls import UrlJoiner

CONSOLE = Console(width=100)
ROOT = Path(__file__).parents[1]
ROBOTS = ROOT / "tests" / "data" / "robots-real-4k" / "robots_test_data.tar.gz"
URL = "https://docs.example.org/3/library/page.html"
PLENTY = 100_000_000
QUERY = "a, area, link, base, meta, title, iframe, frame, html"
Work = Callable[[Any], object]


def main() -> None:
    parser = argparse.ArgumentParser(description="What reading costs, beside peers.")
    parser.add_argument("--pages", type=Path, default=Path("/usr/share/doc/python3-doc/html"))
    parser.add_argument("--robots", type=Path, default=ROBOTS)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    pages = [path.read_bytes() for path in sorted(given.pages.resolve().rglob("*.html"))]
    if not pages:
        raise SystemExit(
            f"no HTML under {given.pages}: apt-get install python3-doc, or --pages DIR"
        )
    bench_urls(pages, given.rounds)
    bench_links(pages, given.rounds)
    bench_dear_pages()
    bench_bytes(pages, given.rounds)
    bench_robots(given.robots, given.rounds)
    bench_sitemap(given.rounds)


def least_seconds(works: dict[str, Work], things: Iterable[Any], rounds: int) -> dict[str, float]:
    """CPU seconds per thing, the least of all rounds."""
    held = list(things)
    least = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            tags._remembered_attributes.cache_clear()  # noqa: SLF001 - each round meets new pages
            start = time.process_time()
            for thing in held:
                work(thing)
            least[name] = min(least[name], (time.process_time() - start) / len(held))
    return least


def installed(name: str) -> bool:
    return find_spec(name.partition(".")[0]) is not None


def show(
    title: str, columns: dict[str, dict[str, float]], unit: float, *, alarm: float = 0
) -> None:
    """One row a peer, one column a kind of work."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    for row in dict.fromkeys(row for column in columns.values() for row in column):
        cells = [column.get(row) for column in columns.values()]
        table.add_row(row, *("" if cell is None else mark(cell, unit, alarm) for cell in cells))
    CONSOLE.print(table)


def mark(seconds: float, unit: float, alarm: float) -> str:
    value = seconds / unit
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"[red]{text}[/red]" if alarm and seconds >= alarm else text


def written_refs(page: bytes) -> list[str]:
    """References as a page writes them, fragments and repeats included."""
    parser = Anchors()
    parser.feed(decode(page))
    return parser.refs


class Anchors(html.parser.HTMLParser):
    """The standard library's reading of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.refs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("a", "area", "link"):
            self.refs += [value for key, value in attrs if key == "href" and value is not None]


def bench_urls(pages: list[bytes], rounds: int) -> None:
    refs = [ref for page in pages[::10] for ref in written_refs(page)]
    resolver = UrlJoiner(URL)

    def in_batch(_: object) -> object:
        return resolver.join_all(refs)

    def one_by_one(join: Callable[[str], object]) -> Work:
        return lambda _: [join(ref) for ref in refs]

    works = {"headgate, a page's at once": in_batch, "headgate": one_by_one(resolver.join)}
    if installed("can_ada"):
        base = import_module("can_ada").parse(URL)
        works["can_ada, join only"] = one_by_one(lambda ref: (base + ref).href)
    ada = import_module("ada_url")
    works["ada-url, join only"] = one_by_one(lambda ref: ada.join_url(URL, ref))
    if installed("yarl"):
        yarl = import_module("yarl").URL(URL)
        joined = import_module("yarl").URL
        works["yarl"] = one_by_one(lambda ref: str(yarl.join(joined(ref)).with_fragment(None)))
    works["urllib"] = one_by_one(lambda ref: urllib.parse.urldefrag(urllib.parse.urljoin(URL, ref)))
    if installed("w3lib"):
        canonical = import_module("w3lib.url").canonicalize_url
        works["w3lib"] = one_by_one(lambda ref: canonical(urllib.parse.urljoin(URL, ref)))
    costs = least_seconds(works, [None], rounds)
    per_ref = {name: seconds / len(refs) for name, seconds in costs.items()}
    show(f"1. URLs: µs per reference, {len(refs):,} references", {"µs": per_ref}, 1e-6)


def link_readers() -> dict[str, Work]:
    readers: dict[str, Work] = {"headgate": lambda page: page_links(page, URL)}
    if installed("selectolax"):
        lexbor = import_module("selectolax.lexbor").LexborHTMLParser
        readers["selectolax (lexbor)"] = lambda page: UrlJoiner(URL).join_all(
            node.attributes.get("href") or "" for node in lexbor(page).css(QUERY)
        )
    if installed("turbohtml"):
        turbo = import_module("turbohtml").parse
        names = QUERY.split(", ")
        readers["turbohtml"] = lambda page: turbo_links(turbo(decode(page), positions=False), names)
    if installed("lxml"):
        lxml = import_module("lxml.html").fromstring
        readers["lxml"] = lambda page: UrlJoiner(URL).join_all(
            element.get("href", "") for element in lxml(page).iter(*QUERY.split(", "))
        )
    if installed("parsel"):
        parsel = import_module("parsel").Selector
        readers["parsel"] = lambda page: UrlJoiner(URL).join_all(
            parsel(text=decode(page))
            .css("a::attr(href), area::attr(href), link::attr(href)")
            .getall()
        )
    readers["html.parser"] = lambda page: UrlJoiner(URL).join_all(written_refs(page))
    return readers


def turbo_links(tree: Any, names: list[str]) -> object:
    nodes = (node for name in names for node in tree.find_all(name))
    return UrlJoiner(URL).join_all(node.attr("href") or "" for node in nodes)


def bench_links(pages: list[bytes], rounds: int) -> None:
    sizes = {"under 20 KB": (0, 20), "20 to 60 KB": (20, 60), "60 to 400 KB": (60, 400)}
    columns = {}
    for title, (low, high) in sizes.items():
        chosen = [page for page in pages if low * 1000 <= len(page) < high * 1000][:40]
        mean = sum(map(len, chosen)) / max(len(chosen), 1) / 1000
        columns[f"{title}, mean {mean:.0f}"] = least_seconds(link_readers(), chosen, rounds)
    show("2. Links: ms per page", columns, 1e-3)


def bench_dear_pages() -> None:
    """Smaller than what a server may send, since some of the peers would not come back."""
    line = b'<p class="x">%d <a href="/%d">link</a>' + b" and text" * 6 + b"</p>\n"
    dear = {
        "nested, 100 KB": b"<div>" * 20_000,
        "never closed, 60 KB": b"".join(b"<b id=%d><i id=%d><p>" % (k, k) for k in range(2_500)),
        "attributes, 170 KB": b"<a %b href=x>" % b" ".join(b"a%d=1" % k for k in range(20_000)),
        "links, 10 MB": b"".join(line % (k, k) for k in range(100_000)),
    }
    readers = {name: reader for name, reader in link_readers().items() if name != "html.parser"}
    columns = {
        title: {
            name: least_seconds({name: reader}, [page], 1)[name] for name, reader in readers.items()
        }
        for title, page in dear.items()
    }
    show("3. Pages made to be expensive: seconds", columns, 1, alarm=1)


def bench_bytes(pages: list[bytes], rounds: int) -> None:
    page = min(pages, key=lambda page: abs(len(page) - 70_000))
    coded = {
        "gzip": gzip.compress(page, 6),
        "br": bytes(brotli.compress(page, quality=5)),
        "zstd": zstd.compress(page, 3),
    }
    works: dict[str, Work] = {
        f"decode_content, {name}": lambda name: decode_content(coded[name], name, PLENTY)
        for name in coded
    }
    costs = {
        name: least_seconds({name: work}, [name.rpartition(" ")[2]] * 200, rounds)[name]
        for name, work in works.items()
    }
    others: dict[str, Work] = {
        "standard library, gzip": lambda _: zlib.decompress(coded["gzip"], 31),
        "charset.decode": lambda _: decode(page),
        "content_digest": lambda _: content_digest(page),
        "the tag pass alone": lambda _: References("headgate").gather(
            decode(page), most=100_000, resources=False, texts=False
        ),
    }
    usual, named = Noise.from_rules(), Noise.from_rules(["css:.sphinxsidebar, div.body > p.ad"])
    others |= {
        "what counts of it, and its digest": lambda _: counted_digest(page, "text/html", usual),
        "the same with two selectors": lambda _: counted_digest(page, "text/html", named),
    }
    costs |= least_seconds(others, [None] * 200, rounds)
    show(f"4. Bytes: µs for one page of {len(page) // 1000} KB", {"µs": costs}, 1e-6)


def bench_robots(packed: Path, rounds: int) -> None:
    with tarfile.open(packed) as archive:
        opened = (archive.extractfile(member) for member in archive.getmembers()[::20])
        files = [stream.read() for stream in opened if stream is not None]
    parsers: dict[str, Work] = {"headgate": RobotsRules.parse}
    asked: dict[str, Callable[[Any, str], object]] = {"headgate": RobotsRules.allows}
    if installed("protego"):
        protego = import_module("protego").Protego
        parsers["protego"] = lambda body: protego.parse(body.decode("utf-8-sig", "replace"))
        asked["protego"] = lambda rules, url: rules.can_fetch(url, "headgate")
    parsers["urllib.robotparser"] = stdlib_rules
    asked["urllib.robotparser"] = lambda rules, url: rules.can_fetch("headgate", url)
    urls = [f"http://a/{path}" for path in ("", "a/b.html", "index.php?x=1&y=2", "%D0%B0/b")]
    checks = {}
    for name, ask in asked.items():
        parsed = [parsers[name](body) for body in files]
        works: dict[str, Work] = {name: lambda rules, ask=ask: [ask(rules, url) for url in urls]}  # type: ignore[misc]
        checks[name] = least_seconds(works, parsed, rounds)[name] / len(urls)
    columns = {"parse": least_seconds(parsers, files, rounds), "question": checks}
    show(f"5. robots.txt: µs, {len(files)} real files", columns, 1e-6)


def stdlib_rules(body: bytes) -> urllib.robotparser.RobotFileParser:
    parser = urllib.robotparser.RobotFileParser()
    parser.parse(body.decode("utf-8", "replace").splitlines())
    return parser


def bench_sitemap(rounds: int) -> None:
    entry = "<url><loc>http://a/page/{0}?b=1&amp;c={0}</loc><lastmod>2026-11-15</lastmod></url>\n"
    body = f"<urlset>{''.join(entry.format(k) for k in range(50_000))}</urlset>".encode()
    works: dict[str, Work] = {
        "headgate": lambda body: read_sitemap(body, URL),
        "ElementTree, no joining, no dates": lambda body: [
            element.text for element in ET.fromstring(body).iter("loc")
        ],
    }
    costs = least_seconds(works, [body], min(rounds, 3))
    show(f"6. A sitemap of 50,000 entries, {len(body) // 1_000_000} MB: ms", {"ms": costs}, 1e-3)


if __name__ == "__main__":
    main()
