from __future__ import annotations

import inspect
import re
from types import ModuleType

import pytest

from headgate.features.grid.coordinator import board_store
from headgate.storage.catalog import sql_catalog
from headgate.storage.catalog.sql_catalog import load_queries


@pytest.mark.parametrize(
    ("file", "module"), [("catalog.sql", sql_catalog), ("board.sql", board_store)]
)
def test_every_query_states_its_purpose_and_is_used(file: str, module: ModuleType) -> None:
    source = inspect.getsource(module)
    for name, text in load_queries(file).items():
        assert re.match(r"-- \w.*\n", text), f"{name} has no purpose"
        assert f'_QUERIES["{name}"]' in source, f"{name} is not used"
