"""Links of PDFs, in plain objects and in packed ones."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from headgate.crawling.page_reader import PageReader
from headgate.model.fetch import Fetched
from headgate.reading.other_links import pdf_links

HERE = "http://c.test/d/e.pdf"


def annotation(target: bytes) -> bytes:
    return b"<< /Type /Annot /Subtype /Link /A << /S /URI /URI " + target + b" >> >>"


def packed(objects: bytes, kind: bytes = b"/ObjStm") -> bytes:
    data = zlib.compress(objects)
    head = b"<< /Type %s /N 1 /First 4 /Filter /FlateDecode /Length %d >>" % (kind, len(data))
    return b"7 0 obj\n" + head + b"\nstream\r\n" + data + b"\nendstream\nendobj\n"


def pdf(*objects: bytes) -> bytes:
    return b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + b"\n".join(objects) + b"\n%%EOF\n"


def test_plain_and_packed_annotations_are_found() -> None:
    file = pdf(
        annotation(rb"(http://a.test/\(1\)\057x)"),
        packed(b"3 0 " + annotation(b"(https://b.test/2)") + annotation(b"(../f.html)")),
        annotation(b"<687474703a2f2f612e746573742f33>"),
        annotation(b"(mailto:a@b.test)"),
    )
    assert pdf_links(file, HERE) == [
        "http://a.test/(1)/x",
        "http://a.test/3",
        "https://b.test/2",
        "http://c.test/f.html",
    ]


def test_pictures_are_not_unpacked_and_damage_does_no_harm() -> None:
    picture = packed(annotation(b"(http://a.test/picture)"), b"/XObject")
    damaged = packed(annotation(b"(http://a.test/lost)")).replace(b"stream\r\nx", b"stream\r\n!")
    file = pdf(picture, damaged, annotation(b"(http://a.test/here)"))
    assert pdf_links(file, HERE) == ["http://a.test/here"]


def test_what_is_encrypted_gives_nothing() -> None:
    assert (
        pdf_links(pdf(b"trailer << /Encrypt 9 0 R >>", annotation(b"(http://a.test/)")), HERE) == []
    )


def test_what_unpacks_to_too_much_is_left_there() -> None:
    bomb = packed(bytes(40_000_000) + annotation(b"(http://a.test/behind)"))
    assert pdf_links(pdf(bomb, annotation(b"(http://a.test/1)")), HERE) == ["http://a.test/1"]


@given(st.binary(max_size=300))
def test_anything_may_come(body: bytes) -> None:
    for link in pdf_links(pdf(b"/URI (" + body, packed(body)), HERE):
        assert link.startswith(("http://", "https://"))


def test_a_crawl_follows_a_pdf() -> None:
    body = pdf(annotation(b"(http://c.test/next)"))
    headers = (("content-type", "application/pdf"),)
    fetched = Fetched(
        HERE,
        200,
        headers=headers,
        request_head=b"",
        response_head=b"",
        payload=body,
        address="",
        wall_time=0.0,
        first_byte_seconds=0.0,
        seconds=0.0,
        wire_bytes=len(body),
    )
    assert list(PageReader().read(fetched).to_follow) == ["http://c.test/next"]
