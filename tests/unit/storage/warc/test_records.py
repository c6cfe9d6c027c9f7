from __future__ import annotations

import base64
import re
from hashlib import sha1

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.storage.warc.making import (
    NOON,
    make_chunked,
    make_failure,
    make_fetched,
    make_not_modified,
)

from headgate.model.fetch import Fetched
from headgate.model.page import Earlier, payload_digest
from headgate.storage.warc import records

INFO = "<urn:uuid:00000000-0000-4000-a000-000000000000>"


def head_and_block(record: bytes) -> tuple[dict[str, str], bytes]:
    head, block = record.split(b"\r\n\r\n", 1)
    version, *lines = head.decode().split("\r\n")
    assert version == "WARC/1.1"
    fields = dict(line.split(": ", 1) for line in lines)
    assert len(fields) == len(lines), "a field stands twice"
    assert block.endswith(b"\r\n\r\n")
    block = block[:-4]
    assert int(fields["Content-Length"]) == len(block)
    if "WARC-Block-Digest" in fields:
        assert fields["WARC-Block-Digest"] == text_of(block)
    return fields, block


def text_of(data: bytes) -> str:
    return "sha1:" + base64.b32encode(sha1(data).digest()).decode()


@given(st.binary(min_size=20, max_size=20))
def test_a_digest_is_written_in_base_32(digest: bytes) -> None:
    assert records.digest_text(digest) == "sha1:" + base64.b32encode(digest).decode()


def test_record_ids_are_random_uuids() -> None:
    one, two = records.record_id(), records.record_id()
    assert one != two
    assert re.fullmatch(
        r"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}>", one
    )


def test_an_exchange_is_a_response_and_the_request_that_asked_for_it() -> None:
    fetched = make_fetched(1)
    digest = payload_digest(fetched.payload)
    response, request = records.exchange(fetched, digest, None, INFO)
    fields, block = head_and_block(response)
    assert block == fetched.response_head + fetched.payload
    assert fields["WARC-Type"] == "response"
    assert fields["WARC-Target-URI"] == fetched.url
    assert fields["WARC-Date"] == "2026-11-15T12:00:01Z"
    assert fields["WARC-IP-Address"] == "192.0.2.7"
    assert fields["WARC-Payload-Digest"] == text_of(fetched.payload)
    assert fields["WARC-Warcinfo-ID"] == INFO
    assert fields["Content-Type"] == "application/http; msgtype=response"
    asked, question = head_and_block(request)
    assert question == fetched.request_head
    assert asked["WARC-Type"] == "request"
    assert asked["WARC-Concurrent-To"] == fields["WARC-Record-ID"] != asked["WARC-Record-ID"]
    assert "WARC-Payload-Digest" not in asked


def test_transfer_coding_that_was_undone_is_renamed() -> None:
    fetched = make_chunked(1)
    length = len(fetched.payload)
    assert records.stored_head(fetched) == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
        b"X-Crawl-transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" % length
    )


def test_a_length_that_no_longer_holds_is_renamed() -> None:
    whole = make_fetched(1)
    cut = replace(whole, payload=whole.payload[:100], truncated="length")
    head = records.stored_head(cut)
    assert b"\r\nX-Crawl-Content-Length: %d\r\n" % len(whole.payload) in head
    assert head.endswith(b"\r\nContent-Length: 100\r\n\r\n")
    response, _ = records.exchange(cut, payload_digest(cut.payload), None, INFO)
    fields, block = head_and_block(response)
    assert fields["WARC-Truncated"] == "length"
    assert block == head + cut.payload


def test_a_head_with_bare_line_feeds_keeps_its_empty_line_last() -> None:
    fetched = replace(
        make_chunked(1), response_head=b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n"
    )
    head = records.stored_head(fetched)
    assert head.startswith(b"HTTP/1.1 200 OK\nX-Crawl-Transfer-Encoding: chunked\nContent-Length: ")
    assert head.endswith(b"\r\n\n")


@pytest.mark.parametrize("fetched", [make_fetched(1), make_not_modified(1)])
def test_a_head_that_tells_the_truth_is_kept_as_it_came(fetched: Fetched) -> None:
    assert records.stored_head(fetched) is fetched.response_head


def test_a_header_that_only_mentions_a_length_is_left_alone() -> None:
    fetched = replace(
        make_chunked(1),
        response_head=b"HTTP/1.1 200 OK\r\nX-Content-Length: 5\r\nVia: content-length: 7\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n",
    )
    head = records.stored_head(fetched)
    assert b"\r\nX-Content-Length: 5\r\nVia: content-length: 7\r\nX-Crawl-Transfer" in head


def test_the_same_payload_becomes_a_revisit_without_it() -> None:
    fetched = make_fetched(1)
    digest = payload_digest(fetched.payload)
    earlier = Earlier("http://other.example/", NOON - 60, digest)
    fields, block = head_and_block(records.exchange(fetched, digest, earlier, INFO)[0])
    assert block == fetched.response_head
    assert fields["WARC-Type"] == "revisit"
    assert fields["WARC-Profile"].endswith("/1.1/revisit/identical-payload-digest")
    assert fields["WARC-Refers-To-Target-URI"] == "http://other.example/"
    assert fields["WARC-Refers-To-Date"] == "2026-11-15T11:59:00Z"
    assert fields["WARC-Payload-Digest"] == text_of(fetched.payload)


def test_not_modified_becomes_a_revisit_with_the_earlier_digest() -> None:
    fetched = make_not_modified(1)
    earlier = Earlier(fetched.url, NOON, payload_digest(b"what it was"))
    digest = payload_digest(b"")
    fields, block = head_and_block(records.exchange(fetched, digest, earlier, INFO)[0])
    assert block == fetched.response_head
    assert fields["WARC-Profile"].endswith("/1.1/revisit/server-not-modified")
    assert fields["WARC-Payload-Digest"] == text_of(b"what it was")


@pytest.mark.parametrize("truncated", ["", "length"])
def test_another_or_a_cut_payload_is_kept_in_full(truncated: str) -> None:
    fetched = replace(make_fetched(1), truncated=truncated)
    digest = payload_digest(fetched.payload)
    known = digest if truncated else payload_digest(b"something else")
    earlier = Earlier(fetched.url, NOON, known)
    fields, block = head_and_block(records.exchange(fetched, digest, earlier, INFO)[0])
    assert fields["WARC-Type"] == "response"
    assert block.endswith(fetched.payload)


def test_a_failure_is_a_metadata_record_of_whole_lines() -> None:
    fields, block = head_and_block(records.failure(make_failure(3), INFO))
    assert fields["WARC-Type"] == "metadata"
    assert fields["Content-Type"] == "application/warc-fields"
    assert block == (b"fetch-failure: dns\r\ndetail: name does not resolve\r\nseconds: 0.500\r\n")


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_url_and_no_note_can_break_out_of_its_line(url: str, text: str) -> None:
    record = records.note(f"http://x/{url}", NOON, [("robots", text)], INFO)
    fields, block = head_and_block(record)
    assert set(fields) == {
        "WARC-Type", "WARC-Record-ID", "WARC-Warcinfo-ID", "WARC-Target-URI", "WARC-Date",
        "WARC-Block-Digest", "Content-Type", "Content-Length",
    }  # fmt: skip
    assert block.startswith(b"robots: ")
    assert block.count(b"\n") == 1
