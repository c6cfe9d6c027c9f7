"""TLS against a real server: verified, metered, resumed."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvloop

from headgate.engine.clock import AwakeClock
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.fetching.dns import FixedResolver
from headgate.fetching.meter import Meter
from headgate.model.fetch import FailureKind, Fetched, FetchFailure, TlsFacts

from .scripted import PATIENT, Server, Wire, asking, page
from .scripted import serving as serving_script

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="the command openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for named.test, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "made.pem", folder / "key.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=named.test", "-addext", "subjectAltName=DNS:named.test"]
    command = ["openssl", *words.split(), *names, "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    whole = folder / "certificate.pem"
    whole.write_text(made.read_text() + key.read_text())
    return whole


@dataclass(frozen=True)
class _Server:
    scripted: Server
    resumed: list[bool]
    """Whether each connection resumed a session."""

    @property
    def connections(self) -> int:
        return self.scripted.connections

    def url(self, host: str = "named.test") -> str:
        return f"https://{host}:{self.scripted.port}/"


@asynccontextmanager
async def serving(certificate: Path, body: bytes, *, close: bool = False) -> AsyncIterator[_Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    resumed: list[bool] = []

    async def script(wire: Wire) -> None:
        resumed.append(wire.writer.get_extra_info("ssl_object").session_reused)
        while await wire.said():
            await wire.say(page(body, *([b"Connection: close"] if close else [])))
            if close:
                break

    async with serving_script(script, context) as server:
        yield _Server(server, resumed)


def fetcher_for(
    authorities: Path | None, *, verify: bool = True, meter: Meter | None = None
) -> HttpFetcher:
    settings = FetcherSettings(
        "https://example.org/crawler",
        PATIENT,
        named=frozenset({"named.test", "wrong.test"}),
        verify_tls=verify,
        authorities=None if authorities is None else str(authorities),
    )
    return HttpFetcher(settings, meter, FixedResolver({"*": "127.0.0.1"}), clock=AwakeClock())


def test_pages_come_through_whole_on_one_connection(certificate: Path) -> None:
    body = bytes(range(256)) * 1000

    async def session() -> None:
        async with serving(certificate, body) as server, fetcher_for(certificate) as fetcher:
            for _ in range(5):
                outcome = await fetcher.fetch(asking(server.url()))
                assert isinstance(outcome, Fetched), outcome
                assert outcome.payload == body
                assert outcome.wire_bytes > len(body)
            assert server.connections == 1

    uvloop.run(session())


@pytest.mark.parametrize("host", ["named.test", "wrong.test"])
def test_what_cannot_be_verified_is_refused(certificate: Path, host: str) -> None:
    """named.test: by an authority nobody trusts; wrong.test: not the name in the certificate."""

    async def session() -> FetchFailure | Fetched:
        trusted = certificate if host == "wrong.test" else None
        async with serving(certificate, b"secret") as server, fetcher_for(trusted) as fetcher:
            return await fetcher.fetch(asking(server.url(host)))

    outcome = uvloop.run(session())
    assert isinstance(outcome, FetchFailure)
    assert outcome.kind is FailureKind.TLS
    assert "certificate" in outcome.detail


def test_verification_can_be_switched_off(certificate: Path) -> None:
    async def session() -> FetchFailure | Fetched:
        fetcher = fetcher_for(None, verify=False)
        async with serving(certificate, b"open") as server, fetcher:
            return await fetcher.fetch(asking(server.url("wrong.test")))

    outcome = uvloop.run(session())
    assert isinstance(outcome, Fetched)
    assert outcome.payload == b"open"


def test_sessions_are_resumed(certificate: Path) -> None:
    async def session() -> None:
        async with serving(certificate, b"x", close=True) as server:
            async with fetcher_for(certificate) as fetcher:
                for _ in range(3):
                    outcome = await fetcher.fetch(asking(server.url()))
                    assert isinstance(outcome, Fetched), outcome
            assert server.resumed == [False, True, True]

    uvloop.run(session())


def test_a_response_tells_version_and_certificate(certificate: Path) -> None:
    """Those of resumed sessions, too."""

    async def session() -> list[TlsFacts | None]:
        facts = []
        server = serving(certificate, b"x", close=True)
        async with server as serves, fetcher_for(certificate) as fetcher:
            for _ in range(2):
                outcome = await fetcher.fetch(asking(serves.url()))
                assert isinstance(outcome, Fetched), outcome
                facts.append(outcome.tls)
        return facts

    first, second = uvloop.run(session())
    assert first is not None
    assert first == second
    assert (first.version, first.issuer) == ("TLSv1.3", "named.test")
    assert 86_400 < first.expires - time.time() < 3 * 86_400


def test_an_unverified_certificate_tells_nothing(certificate: Path) -> None:
    async def session() -> FetchFailure | Fetched:
        async with serving(certificate, b"x") as server, fetcher_for(None, verify=False) as fetcher:
            return await fetcher.fetch(asking(server.url()))

    outcome = uvloop.run(session())
    assert isinstance(outcome, Fetched)
    assert outcome.tls == TlsFacts("TLSv1.3")


def test_a_plain_server_is_no_tls_server() -> None:
    async def session() -> FetchFailure | Fetched:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(10)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, fetcher_for(None) as fetcher:
            return await fetcher.fetch(asking(f"https://named.test:{port}/"))

    outcome = uvloop.run(session())
    assert isinstance(outcome, FetchFailure)
    assert outcome.kind is FailureKind.TLS


def test_a_limit_holds_under_tls(certificate: Path) -> None:
    body = bytes(60_000)

    async def session() -> None:
        meter = Meter(100_000.0, clock=AwakeClock.now)
        fetcher = fetcher_for(certificate, meter=meter)
        async with serving(certificate, body) as server, fetcher:
            loop = asyncio.get_running_loop()
            before = loop.time()
            fetches = (fetcher.fetch(asking(server.url(), expected=60_000)) for _ in range(3))
            for outcome in await asyncio.gather(*fetches):
                assert isinstance(outcome, Fetched), outcome
                assert outcome.payload == body
            assert 1.6 < loop.time() - before < 3.0

    uvloop.run(session())
