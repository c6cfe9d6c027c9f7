"""What connections remember: each thing a value depends on is varied, with the others fixed."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from headgate.fetching import opener as opener_module
from headgate.fetching import origin as origin_module
from headgate.fetching import response
from headgate.fetching.dns import AddressGuard, FixedResolver, leads_to_public
from headgate.fetching.identity import Identity
from headgate.fetching.limits import Limits
from headgate.fetching.opener import Opener
from headgate.fetching.origin import Origin, Origins
from headgate.fetching.tls import Tls
from headgate.model.fetch import FetchRequest
from headgate.model.site import Access

REQUEST = FetchRequest("https://a.example/", "site", 1, 1)


def origin(url: str, via: str = "") -> Origin:
    return replace(Origins().locate(url)[0], via=via)


def an_opener() -> Opener:
    meter = SimpleNamespace(limiter=SimpleNamespace(free=lambda _: True))
    around: Any = SimpleNamespace(meter=meter, limits=Limits())
    return Opener(around, FixedResolver({}), AddressGuard(), Tls())


def connected(made: Opener, to: Origin, rtt: float) -> None:
    line: Any = SimpleNamespace(rtt=rtt, window=None)
    made._unfit(to, REQUEST, line)


def test_a_round_trip_is_that_of_a_host_by_one_way() -> None:
    """Another site's proxy says nothing of the way to the host itself."""
    made = an_opener()
    connected(made, origin("https://a.example/"), 0.2)
    assert made.rtt(origin("https://a.example:8443/")) == 0.2
    assert made.rtt(origin("http://a.example/")) == 0.2
    assert made.rtt(origin("https://a.example/", via="mine")) is None
    assert made.rtt(origin("https://b.example/")) is None
    connected(made, origin("https://a.example/"), 0.3)
    assert made.rtt(origin("https://a.example/")) == 0.2, "the shortest"
    connected(made, origin("https://a.example/"), 0.1)
    assert made.rtt(origin("https://a.example/")) == 0.1


def test_a_handshake_is_that_of_an_origin() -> None:
    made = an_opener()
    new = made._handshake_bytes(origin("https://b.example/"))
    made._learn_handshake(origin("https://a.example/"), 5_000.0)
    assert made._handshake_bytes(origin("https://a.example/")) == 5_000.0
    of_a_new_one = made._handshake_bytes(origin("https://b.example/"))
    assert new < of_a_new_one < 5_000.0
    for other in (
        origin("https://a.example:8443/"),
        origin("https://a.example/", via="mine"),
    ):
        assert made._handshake_bytes(other) == of_a_new_one
    assert made._handshake_bytes(origin("http://a.example/")) < 100, "no TLS"


def test_what_an_opener_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opener_module, "_REMEMBERED_TRIPS", 3)
    made = an_opener()
    for number in range(10):
        connected(made, origin(f"https://{number}.example/"), 0.1)
        made._learn_handshake(origin(f"https://{number}.example/"), 100.0)
    assert len(made._rtts) <= 3
    assert len(made._handshakes) <= 3


def test_a_route_goes_by_site_and_origin() -> None:
    async def routed(site: str, access: Access, to: Origin) -> Origin:
        return Identity(site, access, ()).route(to)

    proxied = Access(proxy="http://127.0.0.1:3128")
    for to in (origin("https://a.example/"), origin("https://b.example/")):
        assert asyncio.run(routed("one", proxied, to)) == replace(to, via="one")
        assert asyncio.run(routed("two", proxied, to)) == replace(to, via="two")
        assert asyncio.run(routed("one", Access(), to)) is to


def test_an_authority_goes_by_its_text_and_long_ones_are_not_kept() -> None:
    origins = Origins()
    texts = ["http://a.org", "https://a.org", "http://a.org:81", "http://b.org", "http://u@a.org"]
    first = [origins.locate(f"{text}/x")[0] for text in texts]
    assert [origins.locate(f"{text}/y?z")[0] for text in texts] == first
    assert len(set(first)) == 4, "what stands before the host is no part of the origin"
    known = len(origins._known)
    assert origins.locate(f"http://{'u' * 1_000}@a.org/")[0] == first[0]
    assert len(origins._known) == known
    for number in range(origin_module._REMEMBERED + 10):
        origins.locate(f"http://{number}.org/")
    assert len(origins._known) <= origin_module._REMEMBERED


def test_words_of_a_header_go_by_its_text_and_long_ones_are_not_kept() -> None:
    for value, words in (("close", ("close",)), ("Close, x", ("close", "x")), ("x", ("x",))) * 2:
        assert response._words(value) == words
    known = response._split_short.cache_info()
    assert len(response._words("x," * 1_000)) == 1_001
    assert response._split_short.cache_info() == known
    assert known.maxsize == 256


def test_whether_an_address_is_public_goes_by_the_address() -> None:
    for address, public in (("8.8.8.8", True), ("10.0.0.1", False), ("::1", False)) * 2:
        assert leads_to_public(address) == public
    assert leads_to_public.cache_info().maxsize == 4_096
