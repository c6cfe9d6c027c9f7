"""A web to crawl at full speed: real documentation, served by nginx on loopback.

Each site has an address of its own in 127.0.2.0/24, so that they are different hosts to everybody;
one of them is to be had by https, too. Bodies go uncompressed: wget does not ask for anything else,
and all are to get the same bytes.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.documentation import Documentation, fetched

__all__ = ["Web", "nginx_program", "served"]

_TEN = "ten-pages"
_NETWORK = "127.0.2"
_PORT = 18_400
_TLS_PORT = 18_443
_CONFIG = """\
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
    include /etc/nginx/mime.types;
    access_log off;
    absolute_redirect off;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=20000;
    keepalive_requests 100000000;
    ssl_certificate {folder}/certificate.pem;
    ssl_certificate_key {folder}/key.pem;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{servers}
}}
"""


@dataclass(frozen=True, slots=True)
class Web:
    """What is being served."""

    seeds: dict[str, str]
    """By package, where a crawl begins."""
    over_tls: str
    """The first page of the last site, by https."""
    ten_pages: str
    certificate: Path
    """To be trusted."""


def nginx_program() -> str | None:
    return shutil.which("nginx", path="/usr/sbin:/sbin:/usr/local/sbin:/usr/bin")


@contextlib.contextmanager
def served(folder: Path, cache: Path, sites: Sequence[Documentation]) -> Iterator[Web]:
    """These sites, and one of ten pages, for as long as the context lasts."""
    program = nginx_program()
    assert program is not None
    if _answers(f"{_NETWORK}.1"):
        raise OSError(f"port {_PORT} is in use: does another bench run?")
    roots = fetched(cache, sites)
    roots[_TEN] = _ten_pages(folder / _TEN, roots[sites[0].package])
    hosts = {name: f"{_NETWORK}.{number}" for number, name in enumerate(roots, 1)}
    last = sites[-1]
    _make_certificate(folder, hosts[last.package])
    config = folder / "nginx.conf"
    config.write_text(_CONFIG.format(folder=folder, servers=_servers(roots, hosts, last.package)))
    folder.chmod(0o755)
    server = subprocess.Popen([program, "-c", str(config), "-p", str(folder)])
    try:
        _await_answer(hosts[_TEN])
        yield Web(
            {s.package: f"http://{hosts[s.package]}:{_PORT}/{s.seed}" for s in sites},
            f"https://{hosts[last.package]}:{_TLS_PORT}/{last.seed}",
            f"http://{hosts[_TEN]}:{_PORT}/",
            folder / "certificate.pem",
        )
    finally:
        server.terminate()
        server.wait()


def _servers(roots: dict[str, Path], hosts: dict[str, str], over_tls: str) -> str:
    listen = {name: f"listen {host}:{_PORT};" for name, host in hosts.items()}
    listen[over_tls] += f" listen {hosts[over_tls]}:{_TLS_PORT} ssl;"
    return "\n".join(f"    server {{ {listen[name]} root {roots[name]}; }}" for name in roots)


def _ten_pages(folder: Path, source: Path) -> Path:
    """A front page, and nine of a manual whose own links lead nowhere."""
    folder.mkdir()
    pages = sorted(source.glob("*.html"))[:9]
    for page in pages:
        text = page.read_text(errors="replace").replace(" href=", " data-href=")
        (folder / page.name).write_text(text)
    links = "".join(f'<li><a href="{page.name}">{page.stem}</a>\n' for page in pages)
    (folder / "index.html").write_text(f"<!doctype html><title>Ten pages</title><ul>{links}</ul>")
    return folder


def _make_certificate(folder: Path, host: str) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += [
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=bench",
        "-addext",
        f"subjectAltName=IP:{host}",
    ]
    command += ["-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"]
    subprocess.run(command, check=True, capture_output=True)


def _answers(host: str) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, _PORT), 1.0):
        return True
    return False


def _await_answer(host: str) -> None:
    for _ in range(100):
        if _answers(host):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nginx does not listen on port {_PORT}")
