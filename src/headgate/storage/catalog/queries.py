"""SQL kept in ``.sql`` files: each query under a line ``-- name: …``, its purpose below it."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["load_queries"]

_NAME = re.compile(r"^-- name: (\w+)\n", re.M)


def load_queries(file: str) -> dict[str, str]:
    """All queries of a file of ``headgate/storage/catalog/sql``, by name."""
    text = (Path(__file__).with_name("sql") / file).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))
