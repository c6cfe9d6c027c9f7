"""Documentation that Debian's packages have installed, served by an nginx of our own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.documentation import free_ports

__all__ = ["DOCUMENTS", "Web", "install_missing", "nginx_program", "serving"]

DOCUMENTS = {
    "python": ("python3-doc", Path("/usr/share/doc/python3-doc/html")),
    "postgresql": ("postgresql-doc-15", Path("/usr/share/doc/postgresql-doc-15/html")),
    "sqlite": ("sqlite3-doc", Path("/usr/share/doc/sqlite3")),
}
"""Site, its package, and the folder that holds it."""


@dataclass(frozen=True, slots=True)
class Web:
    """Sites being served."""

    seeds: dict[str, str]


@contextmanager
def serving(folder: Path) -> Iterator[Web]:
    """An nginx of our own, with everything it writes in ``folder``."""
    ports = dict(zip(DOCUMENTS, free_ports(len(DOCUMENTS)), strict=True))
    servers = "".join(
        f"server {{ listen 127.0.0.1:{ports[site]}; root {root}; absolute_redirect off; }}\n"
        for site, (_, root) in DOCUMENTS.items()
    )
    scratch = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"user {'root' if os.geteuid() == 0 else 'nobody'};\ndaemon off;\n"
        f"pid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\ninclude /etc/nginx/mime.types;\naccess_log off;\n{scratch}{servers}}}\n"
    )
    nginx = subprocess.Popen([nginx_program(), "-c", str(config), "-e", f"{folder}/error.log"])
    try:
        for port in ports.values():
            await_port(port, nginx)
        yield Web({site: f"http://127.0.0.1:{port}/" for site, port in ports.items()})
    finally:
        nginx.terminate()
        nginx.wait()


def await_port(port: int, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    raise SystemExit("nginx did not start")


def nginx_program() -> str:
    return shutil.which("nginx") or "/usr/sbin/nginx"


def install_missing() -> None:
    wanted = [package for package, root in DOCUMENTS.values() if not (root / "index.html").exists()]
    if not Path(nginx_program()).exists():
        wanted.append("nginx-light")
    if not wanted:
        return
    if os.geteuid() != 0:
        raise SystemExit(f"install {', '.join(wanted)} first, or run this as root")
    subprocess.run(["apt-get", "update", "-q"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["apt-get", "install", "-qy", "--no-install-recommends", *wanted],
        check=True,
        stdout=subprocess.DEVNULL,
    )
