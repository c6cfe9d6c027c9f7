"""How a site is accessed: user agent, headers, login, proxy, client certificate.

No secret is stored here: ``env:NAME`` and ``file:PATH`` say where it is, and only the process that
sends a request reads it.
"""

from __future__ import annotations

import msgspec

__all__ = ["IGNORE", "Access"]

IGNORE = "ignore"


class Access(msgspec.Struct, frozen=True, omit_defaults=True):
    """The access settings of one site; every field is optional."""

    user_agent: str = ""
    """In place of Headgate's own."""
    robots_agent: str = ""
    """The product token that robots.txt knows us by, in place of ``headgate``."""
    headers: tuple[str, ...] = ()
    """Like ``"X-Team: archive"``; sent to hosts of the seeds only."""
    auth: str = ""
    """``"basic env:LOGIN"``, where LOGIN holds ``name:password``, or ``"bearer file:token"``."""
    cookies: str = ""
    """Path of a cookie file in Netscape's format."""
    login: str = ""
    """The URL of a page with a login form."""
    login_fields: tuple[str, ...] = ()
    """Like ``"u=editor"`` and ``"p=env:PASSWORD"``."""
    proxy: str = ""
    """``http://host:port`` or ``socks5://host:port``; its password as ``env:`` or ``file:``."""
    client_certificate: str = ""
    """A PEM file with certificate and key."""
    robots: str = ""
    """``"ignore"``: robots.txt of the seeds' hosts is not obeyed."""

    @property
    def logs_in(self) -> bool:
        """Whether links that log out must be avoided."""
        return bool(self.auth or self.cookies or self.login)
