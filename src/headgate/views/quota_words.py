"""A quota in words."""

from __future__ import annotations

from headgate.model.quota import QuotaUse

__all__ = ["quota_is_used_up"]


def quota_is_used_up(use: QuotaUse) -> str:
    """That it is used up, and when it goes on, in the quota's time zone."""
    until = use.resets.astimezone(use.quota.zone)
    return (
        f"the quota of {use.quota} is used up; going on at {until:%Y-%m-%d %H:%M} {use.quota.zone}"
    )
