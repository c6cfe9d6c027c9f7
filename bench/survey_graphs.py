"""Real link graphs: documentation of Debian's packages, read from files as a server would give it.

Packages are fetched with ``apt-get download`` and unpacked into a folder of the caller's; nothing
is installed. Files are answered as by a plain file server: a folder is its ``index.html``, a folder
without its slash redirects, and what is not there is a 404. Links are read by the survey's own
reading, with their anchor texts.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from headgate.features.survey.entries import read_surveyed
from headgate.model.fetch import Fetched

__all__ = ["FRESH", "TUNED", "Answer", "LinkGraph", "documents"]

Answer = Sequence[tuple[str, str]] | int | str
"""Links of a page with their texts, an error status, or the target of a redirect."""

TUNED = {
    "apache2-doc": "apache2-doc/manual/en",
    "cmake-doc": "cmake-data/html",
    "debian-handbook": "debian-handbook/html/en-US",
    "ghc-doc": "ghc-doc/html",
    "libboost1.81-doc": "libboost1.81-doc/doc/html",
    "llvm-14-doc": "llvm-14-doc/html",
    "mailman3-doc": "mailman3/html",
    "neutron-doc": "neutron-doc/html",
    "nodejs-doc": "nodejs/api",
    "octave-doc": "octave/octave.html",
    "python-django-doc": "python-django-doc/html",
    "python-scipy-doc": "python-scipy-doc/html",
    "python-scrapy-doc": "python-scrapy-doc/html",
    "python-sympy-doc": "python-sympy-doc/html",
    "python-tornado-doc": "python-tornado-doc/html",
    "python-xarray-doc": "python-xarray-doc/html",
    "python3.11-doc": "python3.11/html",
    "snakemake-doc": "snakemake/html",
    "sphinx-doc": "sphinx-doc/html",
    "twisted-doc": "twisted-doc/html",
}
"""Graphs that the order was set on: package, and the folder below /usr/share/doc."""
FRESH = {
    "bind9-doc": "bind9-doc/arm",
    "buildbot-doc": "buildbot/html",
    "cinder-doc": "cinder-doc/html",
    "grass-doc": "grass-doc/html",
    "keystone-doc": "keystone-doc/html",
    "lilypond-doc-html": "lilypond/html",
    "linux-doc-6.1": "linux-doc-6.1/html",
    "nova-doc": "nova-doc/html",
    "postgresql-doc-15": "postgresql-doc-15/html",
    "python-dask-doc": "python-dask-doc/html",
    "python-flask-doc": "python-flask-doc/html",
    "python-pandas-doc": "python-pandas-doc/html",
    "python-sqlalchemy-doc": "python-sqlalchemy-doc/html",
    "sqlite3-doc": "sqlite3",
    "varnish-doc": "varnish/html",
}
"""Graphs that nothing was set on."""
_TYPES = {".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml"}


@dataclass(slots=True)
class LinkGraph:
    """One package's documentation as a server."""

    name: str
    root: Path
    _answers: dict[str, Answer] = field(default_factory=dict)

    @property
    def start(self) -> str:
        return f"http://{self.name}.example/"

    def answer(self, url: str) -> Answer:
        known = self._answers.get(url)
        if known is None:
            known = self._answers[url] = self._read(url)
        return known

    def _read(self, url: str) -> Answer:
        path = unquote(urlsplit(url).path)
        file = self.root / path.lstrip("/")
        try:
            if file.is_dir():
                if not path.endswith("/"):
                    return f"{url}/"
                file /= "index.html"
            body = file.read_bytes()
        except (OSError, ValueError):
            return 404
        kind = _TYPES.get(file.suffix, "application/octet-stream")
        return read_surveyed(_fetched(url, kind, body), body, "headgate").links


def documents(packages: dict[str, str], folder: Path) -> list[LinkGraph]:
    """The graphs of these packages, unpacked below ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    graphs = []
    for package, place in packages.items():
        unpacked = folder / package
        if not unpacked.is_dir():
            _unpack(package, unpacked, folder)
        root = unpacked / "usr/share/doc" / place
        graphs.append(LinkGraph(package, root))
    return graphs


def _unpack(package: str, target: Path, folder: Path) -> None:
    subprocess.run(["apt-get", "download", "-q", package], check=True, cwd=folder)
    (file,) = folder.glob(f"{package}_*.deb")
    subprocess.run(["dpkg-deb", "-x", str(file), str(target)], check=True)
    file.unlink()


def _fetched(url: str, kind: str, body: bytes) -> Fetched:
    return Fetched(
        url,
        200,
        headers=(("content-type", kind),),
        request_head=b"",
        response_head=b"",
        payload=body,
        address="127.0.0.1",
        wall_time=0.0,
        first_byte_seconds=0.0,
        seconds=0.0,
        wire_bytes=len(body),
    )
