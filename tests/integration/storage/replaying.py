"""pywb, started and asked."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 60.0


@contextmanager
def serving_pywb(pywb_bin: Path, folder: Path) -> Iterator[str]:
    """The address under which pywb serves what a folder's ``config.yaml`` or collections say."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [str(pywb_bin / "wayback"), "--bind", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            stdout=log,
            stderr=log,
        )
        try:
            wait_for(port, server, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=20)


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"pywb did not start:\n{log.read_text()}")


def replayed(wayback: str, collection: str, stamp: str, url: str) -> bytes:
    """The page as pywb gives it without its own additions."""
    with urllib.request.urlopen(f"{wayback}/{collection}/{stamp}id_/{url}", timeout=30) as answer:
        body: bytes = answer.read()
        return body
