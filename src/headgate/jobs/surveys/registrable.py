"""The registered domain of a host."""

from __future__ import annotations

from headgate.surveying.domains import RegistrableDomain

__all__ = ["registrable_domain"]


def registrable_domain() -> RegistrableDomain:
    """By the public suffix list that comes with its library."""
    from publicsuffixlist import PublicSuffixList

    listed = PublicSuffixList()

    def registered(name: str) -> str:
        is_address = ":" in name or name.rpartition(".")[2].isdigit()
        return name if is_address else listed.privatesuffix(name) or name

    return registered
