"""The status of a keeper: as text with a page, or as JSON."""

from __future__ import annotations

import time
from pathlib import Path

from headgate.cli.speaking import say, show, show_json
from headgate.model.errors import UserMistake, WorldFault

__all__ = ["show_kept"]


def show_kept(folder: Path, *, as_json: bool) -> int:
    """Print the status; works while a keeper runs."""
    import msgspec

    from headgate.jobs.keeping.pages import write_keep_page
    from headgate.storage.collection import Collection
    from headgate.storage.faults import without_remedy
    from headgate.storage.keep_state import load_status
    from headgate.views.keep_text import status_text

    status = load_status(folder)
    if status is None:
        raise UserMistake(
            f"{folder}: nothing is kept there; start with 'headgate keep FILE --out {folder}'"
        )
    if as_json:
        show_json(msgspec.json.format(msgspec.json.encode(status)))
        return 0
    alive, now = Collection(folder).in_use, time.time()
    try:
        page = str(write_keep_page(folder, status, now, alive=alive))
    except WorldFault as fault:  # most likely the trouble that the state tells of
        page = ""
        say(f"no page: {without_remedy(str(fault))}")
    show(status_text(status, now, alive=alive, page=page))
    return 0
