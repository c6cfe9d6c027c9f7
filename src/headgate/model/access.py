"""Who asks: how a site's requests name themselves, log in, and which way they go.

Secrets are never here: ``env:NAME`` and ``file:PATH`` say where they are, and only the process that
sends a request looks there.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["IGNORE", "Access"]

IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Access:
    """Of one site; all may be left out."""

    user_agent: str = ""
    """In place of Headgate's own."""
    robots_agent: str = ""
    """The product token that robots.txt knows us by, in place of ``headgate``."""
    headers: tuple[str, ...] = ()
    """Like ``"X-Team: archive"``, for hosts of the seeds."""
    auth: str = ""
    """``"basic env:LOGIN"``, which has ``name:password``, or ``"bearer file:token"``."""
    cookies: str = ""
    """A file in Netscape's format."""
    login: str = ""
    """The URL of a page with a form."""
    login_fields: tuple[str, ...] = ()
    """Like ``"u=editor"`` and ``"p=env:PASSWORD"``."""
    proxy: str = ""
    """``http://host:port`` or ``socks5://host:port``; with a password, where to find that."""
    client_certificate: str = ""
    """A PEM file with certificate and key."""
    robots: str = ""
    """``"ignore"``: for hosts of the seeds robots.txt is not obeyed."""

    @property
    def logs_in(self) -> bool:
        """A link that logs out would end it."""
        return bool(self.auth or self.cookies or self.login)
