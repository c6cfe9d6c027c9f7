"""Bounds for numbers read from files, so that they fit indexes, dates and table columns. Files
written by Headgate are far within them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

__all__ = ["Amount", "Count", "Moment", "Span", "Status"]

Amount = Annotated[int, Meta(ge=0, le=2**60)]
"""Bytes, or a place in a file."""
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Status = Annotated[int, Meta(ge=0, le=999)]
Moment = Annotated[float, Meta(ge=0, le=2e11)]
"""Seconds since 1970; to the year 8307."""
Span = Annotated[float, Meta(ge=-1e10, le=1e10)]
"""Seconds; clocks may jump back."""
