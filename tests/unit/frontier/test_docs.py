"""docs/frontier.md names every bound with the default the code has."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.frontier import FrontierRules
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.retries import RetryRules
from headgate.frontier.traps import Trap, TrapRules

TEXT = (Path(__file__).parents[3] / "docs" / "frontier.md").read_text(encoding="utf-8")


def test_every_bound_is_documented_with_its_default() -> None:
    documented = dict(re.findall(r"^\| `(\w+\.\w+)` \| (\S+) \|", TEXT, re.MULTILINE))
    actual = {}
    for rules in (TrapRules, DispatchRules, PolitenessRules, RetryRules, FrontierRules):
        for field in msgspec.structs.fields(rules):
            if not isinstance(field.type, type(msgspec.Struct)):
                default = "–" if field.default is msgspec.NODEFAULT else str(field.default)
                actual[f"{rules.__name__}.{field.name}"] = default
    assert documented == actual


def test_every_trap_is_documented() -> None:
    for trap in Trap:
        assert f"| {trap} |" in TEXT
