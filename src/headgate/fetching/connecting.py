"""Connecting a socket to an address, within an event loop.

uvloop's `sock_connect` calls the system's resolver first, in a thread, even for an address: four
switches between threads for each connection.
"""

from __future__ import annotations

import asyncio
import os
import socket

__all__ = ["connect"]


async def connect(sock: socket.socket, address: str, port: int) -> None:
    """The socket is non-blocking; ``address`` is no name. Raises `OSError` when refused."""
    try:
        sock.connect((address, port))
    except BlockingIOError:
        await _answered(sock)
        error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error)) from None


async def _answered(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not answered.done():
            answered.set_result(None)

    loop.add_writer(sock, note)
    try:
        await answered
    finally:
        loop.remove_writer(sock)
