"""Certificates for a NATS server started by Headgate: an authority made at the first start, which
nodes know from their tokens, and a server certificate signed by it.

The server's is made anew at each start, for its names; the authority stays, so tokens stay valid.
None of this is needed with certificates of another authority.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from headgate.model.errors import DamagedFile

__all__ = ["Certificates", "make_private", "server_certificates"]

_AUTHORITY_DAYS, _SERVER_DAYS = 3650, 800
_EARLIER = timedelta(days=3650)
"""Certificates are valid from the past: clocks of nodes may be behind, by years."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files, PEM."""

    authority: Path
    server: Path
    server_key: Path


def server_certificates(folder: Path, names: Sequence[str], wall: float) -> Certificates:
    """For a server with these names and addresses."""
    files = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    authority_key = folder / "ca.key"
    now = datetime.fromtimestamp(wall, UTC)
    if not files.authority.exists():
        key = ec.generate_private_key(ec.SECP256R1())
        make_private(authority_key, _pem(key))
        made = _authority(key, now).public_bytes(Encoding.PEM)
        make_private(files.authority, made)
    key, authority = _load(files.authority, authority_key)
    own = ec.generate_private_key(ec.SECP256R1())
    made = _server(own, names, authority, key, now).public_bytes(Encoding.PEM)
    make_private(files.server_key, _pem(own))
    make_private(files.server, made)
    return files


def make_private(path: Path, data: bytes) -> None:
    """Write a file, completely or not at all, that only its owner can read at any time."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)
    part.replace(path)


def _load(certificate: Path, key: Path) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    remedy = "restore it from a copy, or delete ca.pem and invite all nodes anew"
    try:
        private = load_pem_private_key(key.read_bytes(), None)
        authority = x509.load_pem_x509_certificate(certificate.read_bytes())
    except (OSError, ValueError) as error:
        raise DamagedFile(key, str(error), remedy) from None
    if not isinstance(private, ec.EllipticCurvePrivateKey):
        raise DamagedFile(key, "a key of another kind", remedy)
    return private, authority


def _authority(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Headgate grid")])
    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, key_cert_sign=True, crl_sign=True,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = _builder(name, name, key.public_key(), now, _AUTHORITY_DAYS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(usage, critical=True)
    identity = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return builder.add_extension(identity, critical=False).sign(key, hashes.SHA256())


def _server(
    own: ec.EllipticCurvePrivateKey,
    names: Sequence[str],
    authority: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Headgate door")])
    builder = _builder(subject, authority.subject, own.public_key(), now, _SERVER_DAYS)
    alternatives = x509.SubjectAlternativeName([_named(name) for name in names])
    builder = builder.add_extension(alternatives, critical=False)
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    builder = builder.add_extension(usage, critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    return builder.add_extension(issuer, critical=False).sign(key, hashes.SHA256())


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    now: datetime,
    days: int,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=days))
    )


def _named(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
