"""A disk that fills up under a keeper: `headgate keep --status` says so while it is full."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.acceptance.changing_web import ChangingWeb, serving
from tests.acceptance.running import headgate
from tests.acceptance.test_bad_disks import mounted
from tests.acceptance.test_keep_command import PAGES, ended, keeping, until


def fill(disk: Path) -> None:
    """To the last block."""
    with (disk / "others").open("ab", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass


def test_the_state_tells_of_a_full_disk_while_it_is_full(tmp_path: Path) -> None:
    sites = tmp_path / "sites.toml"
    with mounted(tmp_path / "disk", "size=4m") as disk, serving(ChangingWeb(dict(PAGES))) as web:
        sites.write_text(f'[site.wiki]\nseeds = ["{web.url()}"]\nmin_interval = "1s"\n')
        out = disk / "kept"

        def trouble() -> list[dict[str, str]]:
            found: list[dict[str, str]] = json.loads((out / "keep.json").read_text())["troubles"]
            return found

        with keeping(sites, out) as process:
            until(lambda: web.asked["/b"] >= 2 and (out / "keep.json").exists(), process)
            assert trouble() == []

            def troubled() -> bool:
                fill(disk)
                return bool(trouble())

            until(troubled, process)
            shown = headgate("keep", "--status", out)
            assert shown.returncode == 0, shown.stderr
            assert "No space left on device" in shown.stdout
            assert "→ make room on the disk" in shown.stdout
            assert "--resume" not in shown.stdout, "a keeper goes on by itself"
            assert headgate("keep", "--status", out, "--json").returncode == 0
            subprocess.run(["mount", "-o", "remount,size=40m", str(disk)], check=True)
            assert ended(process) == 0
        assert "Page: " in headgate("keep", "--status", out).stdout
