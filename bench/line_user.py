"""The person on the other chair: a download, small pages, or both, on the line that is shared.

    python -m bench.line_user ADDRESS SECONDS [bulk] [small]

A small page is 10 KB every 200 ms on a fresh connection. Prints what came as JSON.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time

SMALL_BYTES = 10_000
SMALL_EVERY_SECONDS = 0.2
_PORT = 80
_PATIENCE_SECONDS = 10.0


def download(address: str, until: float, result: dict[str, object]) -> None:
    """One connection for the whole time."""
    received = 0
    with socket.create_connection((address, _PORT), timeout=_PATIENCE_SECONDS) as sock:
        sock.sendall(b"GET /stream HTTP/1.1\r\n\r\n")
        while time.monotonic() < until:
            received += len(sock.recv(65536))
    result["bulk_bytes"] = received


def read_page(address: str) -> float:
    began = time.monotonic()
    with socket.create_connection((address, _PORT), timeout=_PATIENCE_SECONDS) as sock:
        sock.sendall(f"GET /bytes/{SMALL_BYTES} HTTP/1.1\r\n\r\n".encode())
        left = SMALL_BYTES
        while left > 0:
            left -= len(sock.recv(65536))
    return time.monotonic() - began


def read_pages(address: str, until: float, result: dict[str, object]) -> None:
    """One after the other; a page that takes longer than the pause delays the next."""
    times: list[float] = []
    due = time.monotonic()
    while (now := time.monotonic()) < until:
        if now < due:
            time.sleep(due - now)
        due = max(due, time.monotonic() - SMALL_EVERY_SECONDS) + SMALL_EVERY_SECONDS
        times.append(read_page(address))
    result["small_seconds"] = times


def main(address: str, seconds: float, wishes: list[str]) -> None:
    result: dict[str, object] = {}
    until = time.monotonic() + seconds
    jobs = {"bulk": download, "small": read_pages}
    threads = [
        threading.Thread(target=jobs[wish], args=(address, until, result)) for wish in wishes
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not threads:
        time.sleep(seconds)
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
