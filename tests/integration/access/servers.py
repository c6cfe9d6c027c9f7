"""Real servers that want to know who asks: a DokuWiki with accounts, and proxies, on loopback."""

from __future__ import annotations

import hashlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.dokuwiki import served, set_up

START_SECONDS = 30.0
USER, PASSWORD = "editor", "Tr0ub4dor-and-3-more"


@contextmanager
def private_wiki(folder: Path, pages: int) -> Iterator[str]:
    """The address of a DokuWiki that only its user may read."""
    set_up(folder, pages)
    conf = folder / "conf"
    with (conf / "local.php").open("a") as local:
        local.write("$conf['useacl'] = 1;\n$conf['authtype'] = 'authplain';\n")
        local.write("$conf['disableactions'] = 'register';\n")
    digest = hashlib.md5(PASSWORD.encode()).hexdigest()
    (conf / "users.auth.php").write_text(f"{USER}:{digest}:Editor:editor@example.org:user\n")
    (conf / "acl.auth.php").write_text("*\t@ALL\t0\n*\t@user\t1\n")
    with served(folder) as (seed, _):
        yield seed


@contextmanager
def running(command: list[str], port: int) -> Iterator[int]:
    """A program that listens on a port of loopback."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_SECONDS
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def tinyproxy(folder: Path, user: str = "", password: str = "") -> Iterator[int]:
    port = free_port()
    config = folder / "tinyproxy.conf"
    login = f"BasicAuth {user} {password}\n" if user else ""
    config.write_text(
        f"Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nLogLevel Connect\n"
        f'LogFile "{folder}/tinyproxy.log"\nAllow 127.0.0.1\n{login}'
    )
    with running([found("tinyproxy"), "-d", "-c", str(config)], port):
        yield port


@contextmanager
def microsocks(user: str = "", password: str = "") -> Iterator[int]:
    port = free_port()
    login = ["-u", user, "-P", password] if user else []
    with running([found("microsocks"), "-i", "127.0.0.1", "-p", str(port), *login], port):
        yield port


def found(program: str) -> str:
    path = shutil.which(program)
    assert path is not None
    return path
