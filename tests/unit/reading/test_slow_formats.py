"""What is no ordinary page is read in time that grows as its length, too.

Sixteen times the text: 256 times the time if it were quadratic.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from itertools import pairwise

import pytest

from headgate.frontier.scope import Scope
from headgate.model.store_rule import StoreRule
from headgate.reading.change_detection import Noise
from headgate.reading.forms import find_form
from headgate.reading.other_links import css_references, pdf_links, style_references, xml_links
from headgate.reading.sitemaps import read_sitemap

SIZES = (500, 8_000, 128_000)
"""A look back that is bounded makes the first step too long, one that is not the second."""
MOST_TIMES = 64
LEAST_SECONDS = 200e-6
TRIES = 3
"""What is quadratic is so each time; a machine that others use is slow once."""

URL = "http://a.test/"
PAGE_AND_SORT = r".*[?&]page=\d+.*[?&]sort=.*$"
OBJECTS = b"<</Type/ObjStm/Filter/FlateDecode>>stream\n"
PACKED = OBJECTS + zlib.compress(b"<</URI(http://a.test/x)>>") + b"\nendstream\n"
READ: dict[str, tuple[str, Callable[[str], object]]] = {
    "a PDF of <": ("<", lambda text: pdf_links(text.encode("latin-1"), URL)),
    "a PDF of objects": (
        OBJECTS.decode("latin-1"),
        lambda text: pdf_links(text.encode("latin-1"), URL),
    ),
    "a PDF of packed objects": (
        PACKED.decode("latin-1"),
        lambda text: pdf_links(text.encode("latin-1"), URL),
    ),
    "a PDF of streams": (">>stream\n", lambda text: pdf_links(text.encode("latin-1"), URL)),
    "styles": ("<style", style_references),
    "styles with text": ("<style>", style_references),
    "attributes of styles": (" style='", style_references),
    "imports": ("@import '", css_references),
    "a sheet of comments": ("/*", css_references),
    "forms of comments": ("<!--", lambda text: find_form(text, URL, ["u"])),
    "forms": ("<form ", lambda text: find_form(text, URL, ["u"])),
    "XML of comments": ("<!--", lambda text: xml_links(text.encode(), URL)),
    "a sitemap of CDATA": (
        "<loc><![CDATA[",
        lambda text: read_sitemap(b"<urlset>" + text.encode(), URL),
    ),
    "an excluded URL": (
        "&page=1",
        lambda text: Scope([URL], exclude=[PAGE_AND_SORT]).inside([f"{URL}?{text}"]),
    ),
    "an included URL": (
        "&page=1",
        lambda text: Scope([URL], include=[PAGE_AND_SORT]).inside([f"{URL}?{text}"]),
    ),
    "a stored URL": (
        "&page=1",
        lambda text: StoreRule.parse([PAGE_AND_SORT]).keeps(f"{URL}?{text}", "text/html", 1),
    ),
    "a line of digits": ("1", lambda text: Noise.from_rules([r"\d+ visitors"]).without(text)),
    "a line of words": (
        "1 visitors ",
        lambda text: Noise.from_rules([r"\d+ visitors"]).without(text),
    ),
}


@pytest.mark.parametrize("kind", READ)
def test_time_grows_as_length_does(kind: str) -> None:
    piece, read = READ[kind]
    texts = [piece * (size // len(piece)) for size in SIZES]
    for short, long in pairwise(texts):
        assert any(
            seconds(read, long) < MOST_TIMES * max(seconds(read, short), LEAST_SECONDS)
            for _ in range(TRIES)
        )


def seconds(read: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    read(text)
    return time.thread_time() - began
