from __future__ import annotations

import inspect
import re

from headgate.storage import sqlite_catalog
from headgate.storage.queries import load_queries


def test_every_query_states_its_purpose_and_is_used() -> None:
    source = inspect.getsource(sqlite_catalog)
    for name, text in load_queries("catalog.sql").items():
        assert re.match(r"-- \w.*\n", text), f"{name} has no purpose"
        assert f'_QUERIES["{name}"]' in source, f"{name} is not used"
