"""TLS over memory buffers: the connection moves the ciphertext, so that it decides what is read and
when.

An event loop's own TLS reads ahead into its buffers, which would take bytes off the wire unpaid.
Certificates are verified against the system's store, or certifi's if there is none; sessions are
resumed per origin, which saves a round trip and a certificate chain.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import certifi

from headgate.fetching.errors import FetchFault
from headgate.fetching.open_files import is_ours, try_one
from headgate.fetching.origin import Origin
from headgate.model.errors import UserMistake
from headgate.model.fetch import FailureKind, TlsFacts

__all__ = ["Tls", "TlsStream", "trusting_context"]

_REMEMBERED_SESSIONS = 2048
_PIECE = 32 * 1024
_RECORD_HEAD = 5
_FULL_RECORD = 16 * 1024
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
"""OpenSSL's reasons for a response that is not TLS."""


class TlsStream:
    """TLS of one connection. Ciphertext goes in by `take` and comes out of `seal`."""

    __slots__ = ("_facts", "_head", "_incoming", "_object", "_outgoing", "_record", "awaited")

    def __init__(self, context: ssl.SSLContext, host: str, session: ssl.SSLSession | None) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=host, session=session
        )
        self._head = b""
        """Start of a record whose length is not yet known."""
        self._record = 0
        """Received bytes of the current record."""
        self.awaited = 0
        """Bytes of the current record still to come."""
        self._facts: TlsFacts | None = None

    async def handshake(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                self._object.do_handshake()
            except ssl.SSLWantReadError:
                await loop.sock_sendall(sock, self._outgoing.read())
                piece = await loop.sock_recv(sock, _PIECE)
                if not piece:
                    raise ConnectionResetError("closed in the TLS handshake") from None
                self.feed(memoryview(piece))
            else:
                await loop.sock_sendall(sock, self._outgoing.read())
                return

    @property
    def session(self) -> ssl.SSLSession | None:
        return self._object.session

    @property
    def facts(self) -> TlsFacts:
        """Facts of a completed handshake; the certificate is decoded once."""
        if self._facts is None:
            shown = self._object.getpeercert() or {}
            ends = str(shown.get("notAfter", ""))
            self._facts = TlsFacts(
                self._object.version() or "",
                _issuer(shown.get("issuer", ())),
                ssl.cert_time_to_seconds(ends) if ends else 0.0,
            )
        return self._facts

    def seal(self, data: bytes) -> bytes:
        self._object.write(data)
        return self._outgoing.read()

    def feed(self, ciphertext: memoryview) -> None:
        self._incoming.write(ciphertext)
        self._count(ciphertext)

    @property
    def is_short_record(self) -> bool:
        """Whether the current record is shorter than the maximum, and thus probably the last: a
        server with more data fills its records."""
        return self._record < _FULL_RECORD

    def _count(self, ciphertext: memoryview) -> None:
        """The first five bytes of a record, unencrypted, give its length."""
        size, at = len(ciphertext), 0
        while size - at > self.awaited:
            at += self.awaited
            missing = _RECORD_HEAD - len(self._head)
            self._head += ciphertext[at : at + missing]
            at += missing
            if at > size:
                self.awaited = 0
                return
            self._record = self.awaited = int.from_bytes(self._head[3:])
            self._head = b""
        self.awaited -= size - at

    def read_into(self, buffer: bytearray) -> int:
        """Decrypt into the buffer; returns the number of bytes, 0 if more is needed, -1 at a proper
        end."""
        try:
            return int(self._object.read(len(buffer), buffer)) or -1
        except ssl.SSLWantReadError:
            return 0
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return -1


class Tls:
    """Shared by all connections: trusted certificates, and sessions by origin."""

    def __init__(
        self, *, verify: bool = True, authorities: str | None = None, certificate: str = ""
    ) -> None:
        """``authorities``: a file of certificates to trust instead of the system's;
        ``certificate``: one with the client's own, and its key."""
        self._verify = verify
        self._authorities = authorities
        self._certificate = certificate
        self._context: ssl.SSLContext | None = None
        """Made when first needed: loading the certificates takes longer than some short crawls."""
        self._sessions: dict[Origin, ssl.SSLSession] = {}

    def with_certificate(self, certificate: str) -> Tls:
        """The same for a client that has one. Raises `UserMistake` for a file that holds none."""
        tls = Tls(verify=self._verify, authorities=self._authorities, certificate=certificate)
        tls._context = tls._make_context()
        return tls

    async def secure(self, sock: socket.socket, origin: Origin) -> TlsStream:
        """Raises `FetchFault`, or an OSError if this machine is at fault (`limits`)."""
        if self._context is None:
            try_one()  # OpenSSL would trust nobody, and say nothing
            self._context = self._make_context()
        stream = TlsStream(self._context, origin.host, self._sessions.get(origin))
        try:
            await stream.handshake(sock)
        except ssl.SSLCertVerificationError as error:
            try_one()  # OpenSSL reads some authorities only now
            raise FetchFault(FailureKind.TLS, f"certificate: {error.verify_message}") from error
        except ssl.SSLError as error:
            raise FetchFault(FailureKind.TLS, _in_words(error)) from error
        except OSError as error:
            if is_ours(error):
                raise
            raise FetchFault(FailureKind.TLS, str(error)) from error
        return stream

    def _make_context(self) -> ssl.SSLContext:
        context = trusting_context(self._authorities)
        context.set_alpn_protocols(["http/1.1"])
        if not self._verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self._certificate:
            try:
                context.load_cert_chain(self._certificate, password=_no_password)
            except (OSError, ValueError) as error:
                why = getattr(error, "reason", "") or getattr(error, "strerror", "") or error
                raise UserMistake(
                    f"{self._certificate}: no certificate with its key, as PEM: {why}"
                ) from None
        return context

    def remember(self, origin: Origin, stream: TlsStream) -> None:
        """Keep the session for the next connection; tickets came with the first response."""
        session = stream.session
        if session is not None and session.has_ticket:
            if len(self._sessions) >= _REMEMBERED_SESSIONS:
                self._sessions.clear()
            self._sessions[origin] = session


def trusting_context(authorities: str | None = None) -> ssl.SSLContext:
    """An SSL context that verifies servers as Headgate does everywhere."""
    return ssl.create_default_context(cafile=authorities or _store())


def _issuer(names: Any) -> str:
    """From Python's form of a distinguished name."""
    found = {key: value for part in names for key, value in part}
    return str(found.get("organizationName") or found.get("commonName") or "")


def _in_words(error: ssl.SSLError) -> str:
    if error.reason in _NOT_TLS:
        return "the answer is not TLS"
    return error.reason.replace("_", " ").lower() if error.reason else str(error)


def _no_password() -> str:
    """A key with a password is an error: nobody can be asked for it."""
    raise ValueError("its key has a password; take that off")


def _store() -> str | None:
    """None: the system's store; certifi's file if the system has none."""
    paths = ssl.get_default_verify_paths()
    if paths.cafile is not None or (paths.capath is not None and any(Path(paths.capath).iterdir())):
        return None
    return certifi.where()
