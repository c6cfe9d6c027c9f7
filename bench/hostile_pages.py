"""Does the time to read a page grow as its length does, whatever is in it? Up to 16 MB.

    python -m bench.hostile_pages                   some minutes
    python -m bench.hostile_pages --largest 4       in MB
    python -m bench.hostile_pages --only comment    shapes with this in their name

Pages of shapes that a stranger may send to hold a crawler up, each of a sixteenth, a quarter and
the whole of the largest size that a page is read to. All that a crawl reads of a page is read
(charset, tags, links, digest), by the compiled pass and by the plain one, and its words as a focus
needs them.

Columns: CPU seconds at each size, the least of several rounds, and by what power of the length they
grow between the last two: 1 is linear, 2 would be quadratic. What takes less than a tenth of a
second at the largest is not judged: its time is that of getting memory. A shape whose power is
above 1.3 is marked; the exit code says whether there was one.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from headgate.reading import tags, urls
from headgate.reading.charset import decoded
from headgate.reading.digests import content_digest
from headgate.reading.links import TagPasses, links_in
from headgate.reading.page_text import page_words
from headgate.reading.tags import COMPILED, CompiledTags, PlainTags

__all__ = ["READERS", "SHAPES", "Read", "seconds_to_read"]

URL = "https://docs.example.org/3/library/page.html"
LINEAR = 1.3
ROUNDS = 3
TINY_SECONDS = 0.1
LONG_SECONDS = 0.5

Shape = Callable[[int], bytes]
"""A page of about so many bytes."""
Read = Callable[[bytes], object]


def repeated(piece: bytes, before: bytes = b"", after: bytes = b"") -> Shape:
    return lambda size: before + piece * (size // len(piece)) + after


def numbered(piece: bytes, before: bytes = b"", after: bytes = b"") -> Shape:
    def page(size: int) -> bytes:
        count = size // (len(piece) + 4)
        return before + b"".join([piece % number for number in range(count)]) + after

    return page


SHAPES: dict[str, Shape] = {
    "paragraphs": repeated(b"<p>"),
    "only <": repeated(b"<"),
    "only </": repeated(b"</"),
    "only >": repeated(b">"),
    "only &": repeated(b"&"),
    "only quotes": repeated(b"\"'"),
    "blanks": repeated(b" \n"),
    "zero bytes": repeated(b"\0"),
    "no UTF-8": repeated(b"\xff"),
    "nested": repeated(b"<div>"),
    "never closed": repeated(b"<b><i><p>"),
    "a tag that does not end": repeated(b" x", b"<a"),
    "tags that do not end": repeated(b"<a "),
    "attributes": numbered(b" a%d=1", b"<a", b" href=x>"),
    "the same attribute": repeated(b" href=x", b"<a", b">"),
    "attributes without a blank": repeated(b'a="b"', b"<a ", b">"),
    "equals signs": repeated(b"=", b"<a ", b">"),
    "slashes in a tag": repeated(b"/", b"<a ", b">"),
    "values that do not end": repeated(b"<a href='"),
    "values of both quotes": repeated(b"<a href='x\">"),
    "a long value": repeated(b"x", b'<a href="', b'">'),
    "references in a value": repeated(b"&amp;", b'<a href="', b'">'),
    "numbers in a value": repeated(b"&#35;", b'<a href="', b'">'),
    "half references": repeated(b"&am", b'<a href="', b'">'),
    "blanks in a value": repeated(b" ", b'<a href="', b'x">'),
    "line ends in a value": repeated(b"\n\r", b'<a href="', b'x">'),
    "comments": repeated(b"<!-->"),
    "comments that do not end": repeated(b"<!--"),
    "a comment of dashes": repeated(b"-", b"<!--"),
    "a comment of near ends": repeated(b"--!", b"<!--"),
    "declarations": repeated(b"<!x"),
    "instructions": repeated(b"<?x"),
    "CDATA": repeated(b"<![CDATA[", b"<svg>"),
    "scripts": repeated(b"<script>"),
    "a script of near ends": repeated(b"</scrip", b"<script>"),
    "a script of comments": repeated(b"<!--<script>", b"<script>"),
    "ends of scripts": repeated(b"</script>"),
    "titles": repeated(b"<title>x</title>"),
    "a title of near ends": repeated(b"</titl", b"<title>"),
    "a title of references": repeated(b"&lt;", b"<title>", b"</title>"),
    "a title": repeated(b"word ", b"<title>", b"</title>"),
    "plaintext": repeated(b"<a href=x>", b"<plaintext>"),
    "metas": repeated(b"<meta name=x>"),
    "robots metas": repeated(b"<meta name=robots content='none,all,x'>"),
    "a robots meta": repeated(b"none,", b"<meta name=robots content='", b"'>"),
    "refreshes": repeated(b"<meta http-equiv=refresh content='0;url=x'>"),
    "a refresh of digits": repeated(b"1", b"<meta http-equiv=refresh content='", b";x'>"),
    "charsets": repeated(b"<meta charset=x>"),
    "bases": repeated(b"<base href=/x/>"),
    "a long base": numbered(b"<a href=%d>", b"<base href='/" + b"x/" * 4_000 + b"'>"),
    "rels": repeated(b"x ", b"<link href=x rel='", b"'>"),
    "links with rels": numbered(b"<link rel='next nofollow' href=%d>"),
    "languages": repeated(b"<html lang=en>"),
    "frames": numbered(b"<iframe src=%d></iframe>"),
    "links": numbered(b"<a href=%d>x</a>"),
    "the same link": repeated(b"<a href=x>x</a>"),
    "links that are not": numbered(b"<a href='javascript:%d'>x</a>"),
    "dot segments": repeated(b"<a href='../../../../../../../../../../x'>"),
    "one of dot segments": repeated(b"../", b"<a href='", b"'>"),
    "escapes": numbered(b"<a href='%%41%%zz%%%d'>"),
    "ports and users": numbered(b"<a href='http://u:p@h:%d/'>"),
    "hosts": numbered(b"<a href='http://h%d.example/'>"),
    "punycode": numbered(b"<a href='http://xn--%d.example/'>"),
    "letters of four bytes": numbered("<a href='\U0001f600%d'>".encode()),
    "Latin letters": numbered(b"<a href='?\xe9%d'>", b"<meta charset=latin1>"),
    "UTF-16": lambda size: b"\xff\xfe" + ("<a href=x>" * (size // 20)).encode("utf-16-le"),
    "UTF-7 signs": repeated(b"+ADw-", b"<meta charset=utf-7>"),
    "Japanese escapes": repeated(b"\x1b$B!!", b"<meta charset=iso-2022-jp>"),
}


def _links(passes: TagPasses) -> Read:
    def read(page: bytes) -> object:
        told = decoded(page, "text/html")
        return content_digest(page), links_in(told.text, URL, told.codec, passes=passes)

    return read


def _words(page: bytes) -> object:
    told = decoded(page, "text/html")
    return page_words(told.text, URL, told.codec)


READERS: dict[str, Read] = {"plain": _links(TagPasses(PlainTags)), "words": _words}
if COMPILED:
    READERS = {"compiled": _links(TagPasses(CompiledTags)), **READERS}


def seconds_to_read(read: Read, page: bytes, rounds: int = ROUNDS) -> float:
    """The least CPU time of several rounds, or of one where it is long; each meets new links."""
    least = math.inf
    for _ in range(rounds):
        urls._known.clear()  # noqa: SLF001
        tags._remembered_attributes.cache_clear()  # noqa: SLF001
        began = time.process_time()
        read(page)
        least = min(least, time.process_time() - began)
        if least > LONG_SECONDS:
            break
    return least


def growth(quarter: float, whole: float) -> float | None:
    """The power of the length that time grows by; None: it is too short to tell."""
    return math.log(whole / quarter, 4) if whole >= TINY_SECONDS else None


def lines(names: Sequence[str], sizes: Sequence[int]) -> Iterator[tuple[str, bool]]:
    for name in names:
        pages = [SHAPES[name](size) for size in sizes]
        for reader, read in READERS.items():
            taken = [seconds_to_read(read, page) for page in pages]
            power = growth(taken[-2], taken[-1])
            bad = power is not None and power > LINEAR
            cells = "".join(f"{seconds:9.3f}" for seconds in taken)
            told = "–" if power is None else f"{power:.2f}"
            yield f"{name:<28} {reader:<9}{cells} {told:>7}{'  NOT LINEAR' if bad else ''}", bad


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--largest", type=float, default=16.0, metavar="MB")
    parser.add_argument("--only", default="", metavar="WORD")
    given = parser.parse_args(arguments)
    sizes = [int(given.largest * 1e6 / part) for part in (16, 4, 1)]
    names = [name for name in SHAPES if given.only in name]
    heads = "".join(f"{size / 1e6:6.3g} MB" for size in sizes)
    print(f"{'':<28} {'':<9}{heads} {'power':>7}")
    odd = 0
    for line, bad in lines(names, sizes):
        print(line, flush=True)
        odd += bad
    print(f"\n{len(names)} shapes; not linear: {odd}")
    return 1 if odd else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
