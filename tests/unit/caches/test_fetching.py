"""What connections remember: each thing a value depends on is varied, with the others fixed."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import certifi
import pytest
from msgspec.structs import replace

from headgate.engine.clock import AwakeClock
from headgate.fetching import dns, response, round_trips, tiny_segments
from headgate.fetching import opener as opener_module
from headgate.fetching import origin as origin_module
from headgate.fetching import tls as tls_module
from headgate.fetching.cookies import public_suffixes
from headgate.fetching.dns import AddressGuard, CachedResolver, FixedResolver, leads_to_public
from headgate.fetching.errors import FetchFault
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


def test_an_answer_goes_by_the_name_until_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dns, "REMEMBERED_NAMES", 3)

    async def session() -> None:
        clock = SimpleNamespace(now=0.0)
        asked = FixedResolver({"a": "192.0.2.1", "b": "192.0.2.2"})
        resolver = CachedResolver(asked, lambda: float(clock.now))
        steps = ((0, "a", 1), (1, "b", 2), (2, "a", 2), (61, "a", 3), (61, "b", 4))
        for clock.now, host, times in steps:
            answers = await asyncio.gather(*(resolver.resolve(host) for _ in range(3)))
            assert {answer.addresses for answer in answers} == {
                ("192.0.2.1" if host == "a" else "192.0.2.2",)
            }
            assert len(asked.asked) == times
        for number in range(10):
            with pytest.raises(FetchFault):
                await resolver.resolve(f"x{number}")
            assert len(resolver._known) <= 3
        assert not resolver._asking

    asyncio.run(session())


def test_a_session_goes_by_the_origin_and_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by the site whose proxy or certificate is used."""
    monkeypatch.setattr(tls_module, "_REMEMBERED_SESSIONS", 4)
    tls = Tls()
    one, *others = (
        origin("https://a.example/"),
        origin("https://a.example:8443/"),
        origin("https://b.example/"),
        origin("https://a.example/", via="mine"),
    )
    stream: Any = SimpleNamespace(session=SimpleNamespace(has_ticket=True))
    tls.remember(one, stream)
    assert tls._sessions.get(one) is stream.session
    assert [tls._sessions.get(other) for other in others] == [None] * 3
    for number in range(20):
        tls.remember(origin(f"https://{number}.example/"), stream)
        assert len(tls._sessions) <= 4


def test_a_context_is_that_of_its_settings(tmp_path: Path) -> None:
    authorities = tmp_path / "authorities.pem"
    authorities.write_bytes(Path(certifi.where()).read_bytes())
    strict, lax = Tls(authorities=str(authorities)), Tls(verify=False)
    contexts = []
    for tls in (strict, lax):
        tls._context = tls._make_context()
        contexts.append(tls._context)
    assert [context.check_hostname for context in contexts] == [True, False]
    authorities.write_bytes(b"")
    assert strict._context is contexts[0], "the store as it was when first needed"


def test_facts_are_those_of_one_stream() -> None:
    """A stream is one connection's, and its handshake never changes."""

    def stream(version: str) -> tls_module.TlsStream:
        made = tls_module.TlsStream(ssl.create_default_context(), "a.example", None)
        shown: Any = SimpleNamespace(getpeercert=dict, version=lambda: version)
        made._object = shown
        return made

    first, second = stream("TLSv1.2"), stream("TLSv1.3")
    for _ in range(2):
        assert [first.facts.version, second.facts.version] == ["TLSv1.2", "TLSv1.3"]
    assert first.facts is first.facts


def test_fields_of_a_login_are_those_of_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fields(value: str) -> dict[str, str]:
        monkeypatch.setenv("WORD", value)
        access = Access(login="http://a.example/in", login_fields=("user=me", "pass=env:WORD"))
        made = Identity("site", access, ())
        first = made.login_fields
        monkeypatch.setenv("WORD", "later")
        assert made.login_fields == first, "as when they were first needed"
        return first

    for word in ("one", "two"):
        assert asyncio.run(fields(word)) == {"user": "me", "pass": word}


def test_public_suffixes_are_those_of_the_library() -> None:
    assert public_suffixes() is public_suffixes()
    for name, public in (("co.uk", True), ("example.co.uk", False), ("github.io", True)) * 2:
        assert public_suffixes().is_public(name) == public


def test_a_host_of_crumbs_is_one_by_its_last_response(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny_segments, "_REMEMBERED_HOSTS", 3)
    limiter = SimpleNamespace(total=1e6)
    meter: Any = SimpleNamespace(limiter=limiter)
    turns = tiny_segments.TinySegmentLimiter(meter)
    for host, crumbs in (("a", True), ("b", False), ("a", False), ("a", True)):
        turns._learn(host, crumbs=crumbs)
        assert turns.from_host(host) == crumbs
    for number in range(10):
        turns._learn(str(number), crumbs=True)
    assert len(turns._hosts) == 3


def test_round_trips_of_servers_no_longer_aimed_at_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(round_trips, "_MOST_REMEMBERED", 5)
    probe = round_trips.LineProbe(lambda *_: None, AwakeClock())
    near, far = (round_trips.Target(address, 80) for address in ("192.0.2.1", "192.0.2.2"))
    for target, trip, shortest in ((near, 0.2, 0.2), (far, 0.5, 0.5), (near, 0.3, 0.2)):
        probe._note(target.address, trip, 0.0)
        assert probe._distance(target) == shortest
    for number in range(20):
        probe.aim([near])
        probe._note(f"198.51.100.{number}", 0.1, 0.0)
        probe._unanswered[f"198.51.100.{number}"] = 1
    assert len(probe._trips) <= 6
    assert len(probe._unanswered) <= 6
    assert probe._distance(near) == 0.2
