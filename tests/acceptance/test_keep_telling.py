"""`headgate keep` tells of what changed, and `headgate changes` beside it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.acceptance.changing_web import serving
from tests.acceptance.running import headgate
from tests.acceptance.test_changes_command import WordyWeb
from tests.acceptance.test_keep_command import ended, keeping, until

PAGES = {"/": ["/a", "/b"], "/a": [], "/b": []}


def test_changes_that_count_are_told_and_others_not(tmp_path: Path) -> None:
    out, told = tmp_path / "kept", tmp_path / "told"
    web = WordyWeb(PAGES)
    web.texts = {"/a": "<p>5 EUR", "/b": "<p>7 views<i class=clock>one</i>"}
    with serving(web):
        site_file = tmp_path / "sites.toml"
        site_file.write_text(
            f'[site.wiki]\nseeds = ["{web.url()}"]\nmin_interval = "1s"\nfresh_within = "10s"\n'
            f"ignore = ['css:.clock']\non_change = \"tee -a {told}\"\n"
        )
        with keeping(site_file, out, "--quiet") as process:
            until(lambda: min(web.asked["/a"], web.asked["/b"]) >= 2, process)
            assert not told.exists(), "nothing is a change at the first visit"
            web.texts = {"/a": "<p>6 EUR", "/b": "<p>8 views<i class=clock>two</i>"}
            until(told.exists, process)
            asked = web.asked["/b"]
            until(lambda: web.asked["/b"] >= asked + 2, process)
            while_it_runs = headgate("changes", out, "--since", "1d", "--format", "jsonl")
            assert ended(process) == 0
    notices = [json.loads(line) for line in told.read_text().splitlines()]
    assert [(one["change"], one["url"]) for one in notices] == [("changed", web.url("/a"))]
    assert notices[0]["difference"][-2:] == ["- 5 EUR", "+ 6 EUR"]
    status = json.loads(headgate("keep", "--status", out, "--json").stdout)
    assert status["notices"] == {"told": 1, "failed": 0, "dropped": 0, "waiting": 0}
    rows = [json.loads(line) for line in while_it_runs.stdout.splitlines()]
    assert [(row["change"], row["url"]) for row in rows if row["change"] != "new"] == [
        ("changed", web.url("/a"))
    ]
    words = headgate("keep", "--status", out).stdout
    assert "Told:      1 change by on_change." in words
    assert "No trouble." in words
    assert (out / "keep.html").is_file()
    assert not list((out / "notices").iterdir())
