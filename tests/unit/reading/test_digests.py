"""Content digests."""

from __future__ import annotations

from headgate.reading.digests import content_digest


def test_tells_contents_apart() -> None:
    digests = {content_digest(b"%d" % k) for k in range(10_000)}
    assert len(digests) == 10_000
    assert {len(digest) for digest in digests} == {16}


def test_is_the_same_in_every_process() -> None:
    """The catalog keeps digests from one run to the next."""
    assert content_digest(b"headgate").hex() == "3158747bf9044438e22b0ffb0182c0f3"
