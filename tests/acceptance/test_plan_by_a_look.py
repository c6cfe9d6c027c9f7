"""`headgate plan --scout`: from guesses it says probably, and blames nobody wrongly."""

from __future__ import annotations

import json
from pathlib import Path

from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving


def test_a_slow_server_looked_at_is_no_max_rate_and_no_proof(tmp_path: Path) -> None:
    with serving(SmallWeb(40, page_bytes=20_000, random_bytes=9000, seconds_per_page=0.2)) as web:
        file = tmp_path / "sites.toml"
        file.write_text(
            f'[budget]\nbandwidth = "10 MB/s"\n[site.slow]\nseeds = ["{web.seed}"]\n'
            'deadline = "3s"\n'
        )
        said = headgate("plan", file, "--scout")
        document = json.loads(headgate("plan", file, "--scout", "--json").stdout)
    headline, guesses = said.stdout.splitlines()[:2]
    assert headline.startswith(("Probably ", "Not feasible even with sizes at the bottom"))
    assert "max_rate" not in said.stdout
    assert "no plan can" not in said.stdout
    assert guesses.startswith("Guessed: the size, by a first look: ")
    assert " between " in guesses
    assert document["sites"][0]["guess"]["size_by"] == "a first look"
    assert document["verdict_at_worst"] == "infeasible"


def test_what_the_file_says_stays_exact(tmp_path: Path) -> None:
    file = tmp_path / "sites.toml"
    file.write_text('[budget]\nbandwidth = "1 KB/s"\n[site.a]\nexpect = "9 KB"\ndeadline = "3s"\n')
    said = headgate("plan", file, "--scout").stdout
    assert said.startswith(
        "Not feasible: no plan can meet the deadline; at least 3 KB/s are needed"
    )
    assert "Guessed" not in said
