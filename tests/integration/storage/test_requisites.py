"""Pages with all that shows them: crawled, packed, and replayed whole in pywb and in Chromium."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image
from tests.threaded_server import QuietHandler, answering

import headgate
from headgate.model.site import Requisites, Site

from .replaying import replayed, serving_pywb


@dataclass
class Web:
    """Files by path, on one port of loopback."""

    files: dict[str, tuple[str, bytes]]
    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(web: Web) -> Iterator[Web]:
    class Handler(QuietHandler):
        def answer(self) -> None:
            web.asked[self.path] += 1
            kind, body = web.files.get(self.path, ("", b""))
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", kind or "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with answering(Handler) as web.port:
        yield web


def picture(colour: str) -> tuple[str, bytes]:
    file = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(file, "PNG")
    return "image/png", file.getvalue()


@pytest.fixture
def webs() -> Iterator[tuple[Web, Web]]:
    """A site, and another host that has some of what shows it."""
    other = Web(
        {"/far.png": picture("red"), "/robots.txt": ("text/plain", b"User-agent: *\nDisallow: /no")}
    )
    site = Web({"/style.css": ("text/css", b"@import url('more.css'); h1 { color: navy }")})
    with serving(other), serving(site):
        page = f"""<!DOCTYPE html><html><head><title>Shown</title>
        <link rel=stylesheet href=style.css><script src=/run.js></script></head>
        <body style="margin:20px; background: url(/paper.png)"><h1>Shown whole</h1>
        <img src="{other.root}/far.png"><img src="{other.root}/no.png">
        <img srcset="/small.png 1x, /large.png 2x" src="/small.png"><p class=x>x</p>
        <a href="/docs/next.html">next</a></body></html>"""
        site.files |= {
            "/docs/": ("text/html", page.encode()),
            "/docs/style.css": site.files["/style.css"],
            "/docs/more.css": ("text/css", b".x { background: url(../deep.png); height: 64px }"),
            "/docs/next.html": ("text/html", b"<title>Next</title>next"),
            "/run.js": ("text/javascript", b"document.title = 'run'"),
            "/paper.png": picture("beige"),
            "/small.png": picture("green"),
            "/large.png": picture("olive"),
            "/deep.png": picture("purple"),
        }
        yield site, other


SHOWN = {"/docs/style.css", "/docs/more.css", "/run.js", "/paper.png", "/small.png", "/large.png",
         "/deep.png"}  # fmt: skip


def crawl(site: Web, out: Path, requisites: Requisites) -> None:
    wanted = Site(
        "docs", seeds=(f"{site.root}/docs/",), include=("/docs/",), depth=0, requisites=requisites
    )
    headgate.crawl(wanted, "unlimited", out)


def test_none_same_site_and_page(webs: tuple[Web, Web], tmp_path: Path) -> None:
    site, other = webs
    crawl(site, tmp_path / "none", Requisites.NONE)
    assert not SHOWN & site.asked.keys()
    crawl(site, tmp_path / "same", Requisites.SAME_SITE)
    assert site.asked.keys() >= SHOWN
    assert "/docs/next.html" not in site.asked
    assert not other.asked
    crawl(site, tmp_path / "page", Requisites.PAGE)
    assert "/far.png" in other.asked
    assert "/no.png" not in other.asked  # by its robots.txt


def shot(page: str, file: Path) -> bytes:
    """What Chromium shows of a page."""
    chromium = shutil.which("chromium")
    assert chromium is not None
    subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--window-size=500,400", "--virtual-time-budget=15000", f"--screenshot={file}", page],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    with Image.open(file) as image:
        return image.convert("RGB").tobytes()


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
def test_a_page_is_replayed_whole(webs: tuple[Web, Web], pywb_bin: Path, tmp_path: Path) -> None:
    site, other = webs
    out = tmp_path / "kept"
    crawl(site, out, Requisites.PAGE)
    live = shot(f"{site.root}/docs/", tmp_path / "live.png")
    (run,) = (out / "runs").iterdir()
    (tmp_path / "config.yaml").write_text(
        "framed_replay: false\nenable_auto_fetch: false\ncollections:\n"
        f"  kept: {{index_paths: '{run}/index.cdxj', archive_paths: '{out}/'}}\n"
    )
    bodies = {f"{site.root}{path}": site.files[path][1] for path in SHOWN}
    bodies[f"{other.root}/far.png"] = other.files["/far.png"][1]
    with serving_pywb(pywb_bin, tmp_path) as wayback:
        for url, body in bodies.items():
            assert replayed(wayback, "kept", "2026", url) == body
        site.files.clear()  # nothing comes from the live web
        other.files.clear()
        shown = shot(f"{wayback}/kept/2026mp_/{site.root}/docs/", tmp_path / "replayed.png")
    assert shown == live


MANUAL = Path("/usr/share/doc/postgresql-doc-15/html")
DRAWN = ("gin-implementation.html", "storage-page-layout.html", "geqo-intro2.html")
"""Its pages with pictures."""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
@pytest.mark.skipif(not MANUAL.exists(), reason="needs Debian's postgresql-doc-15")
def test_a_manual_is_replayed_whole(pywb_bin: Path, tmp_path: Path) -> None:
    """Side by side with the live pages; nothing that a page asks for is missing."""
    kinds = {".html": "text/html", ".css": "text/css", ".svg": "image/svg+xml"}
    manual = Web(
        {f"/{path.name}": (kinds[path.suffix], path.read_bytes()) for path in MANUAL.iterdir()
         if path.suffix in kinds}
    )  # fmt: skip
    out = tmp_path / "kept"
    with serving(manual):
        seeds = [f"{manual.root}/{page}" for page in DRAWN]
        wanted = Site("manual", seeds=tuple(seeds), depth=0, requisites=Requisites.PAGE)
        headgate.crawl(wanted, "unlimited", out)
        live = [shot(page, tmp_path / f"live{k}.png") for k, page in enumerate(seeds)]
        (run,) = (out / "runs").iterdir()
        (tmp_path / "config.yaml").write_text(
            "framed_replay: false\nenable_auto_fetch: false\ncollections:\n"
            f"  kept: {{index_paths: '{run}/index.cdxj', archive_paths: '{out}/'}}\n"
        )
        manual.files.clear()  # nothing comes from the live web
        with serving_pywb(pywb_bin, tmp_path) as wayback:
            pages = [f"{wayback}/kept/2026mp_/{page}" for page in seeds]
            shown = [shot(page, tmp_path / f"replayed{k}.png") for k, page in enumerate(pages)]
    assert shown == live
    assert len(set(live)) == len(live)
    asked = re.findall(r'"GET (\S*/kept/2026\S*) HTTP[^"]*" (\d+)', (tmp_path / "log").read_text())
    assert {path.rpartition("/")[2] for path, _ in asked} >= {"gin.svg", "stylesheet.css"}
    failed = {path for path, status in asked if status not in ("200", "304", "307")}
    # Browsers ask for that by themselves; the manual has none either.
    assert {path for path in failed if not path.endswith("/favicon.ico")} == set()
