"""Sites nobody knows: nothing is fetched twice, and nothing waits for a look at them."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving


def test_every_page_is_fetched_once(tmp_path: Path) -> None:
    """Eight pages of each site were looked at first and thrown away."""
    with serving(SmallWeb(40)) as one, serving(SmallWeb(30, page_bytes=9_000)) as other:
        file = tmp_path / "sites.toml"
        file.write_text(
            '[budget]\nbandwidth = "1 MB/s"\n'
            f'[site.one]\nseeds = ["{one.seed}"]\ndeadline = "60s"\n'
            f'[site.other]\nseeds = ["{other.seed}"]\n'
        )
        done = headgate("crawl", file, "--out", tmp_path / "out", "--quiet")
    assert done.returncode == 0, done.stderr
    for web in (one, other):
        assert set(web.asked.values()) == {1}
        assert len(web.asked) == web.pages + 1  # robots.txt
