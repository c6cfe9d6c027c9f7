"""Fifty-nine real documentation sites: taken out of Debian's packages, served by nginx on loopback.

Manuals in one piece and in thousands, Sphinx, Doxygen, Javadoc, Haddock, DocBook, Texinfo, Scribble
and by hand; from about 20 pages to 10,000. The packages are downloaded, not installed, into a
folder that is used again. Every other pair of sites is served compressed, as servers do or don't.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "HELD_OUT",
    "SITES",
    "TUNED_ON",
    "Documentation",
    "fetched",
    "free_ports",
    "served",
]


@dataclass(frozen=True, slots=True)
class Documentation:
    """A package, the folder in it that is the site, and the page a crawl begins at."""

    package: str
    folder: str
    seed: str = "index.html"


TUNED_ON = (
    Documentation("ant-doc", "usr/share/doc/ant/manual"),
    Documentation("apache2-doc", "usr/share/doc/apache2-doc/manual", "en/index.html"),
    Documentation("bind9-doc", "usr/share/doc/bind9-doc/arm"),
    Documentation("cmake-doc", "usr/share/doc/cmake-data/html"),
    Documentation("debian-faq", "usr/share/doc/debian/FAQ", "index.en.html"),
    Documentation("debian-handbook", "usr/share/doc/debian-handbook/html", "en-US/index.html"),
    Documentation("debian-reference-en", "usr/share/debian-reference", "index.en.html"),
    Documentation("doxygen-doc", "usr/share/doc/doxygen/html"),
    Documentation("exim4-doc-html", "usr/share/doc/exim4-doc-html/spec_html"),
    Documentation("ghc-doc", "usr/share/doc/ghc-doc"),
    Documentation("gimp-help-en", "usr/share/gimp/2.0/help/en"),
    Documentation("git-doc", "usr/share/doc/git-doc"),
    Documentation("grass-doc", "usr/share/doc/grass-doc/html"),
    Documentation(
        "installation-guide-amd64", "usr/share/doc/installation-guide-amd64", "en/index.html"
    ),
    Documentation("libboost1.74-doc", "usr/share/doc/libboost1.74-doc/doc/html"),
    Documentation("libcommons-lang3-java-doc", "usr/share/doc/libcommons-lang3-java/api"),
    Documentation("libeigen3-doc", "usr/share/doc/libeigen3-dev/html"),
    Documentation("libglib2.0-doc", "usr/share/gtk-doc/html", "glib/index.html"),
    Documentation("libgtk-3-doc", "usr/share/gtk-doc/html", "gtk3/index.html"),
    Documentation("liblog4j1.2-java-doc", "usr/share/doc/liblog4j1.2-java/api"),
    Documentation("lilypond-doc-html", "usr/share/doc/lilypond/html"),
    Documentation("linux-doc-6.1", "usr/share/doc/linux-doc-6.1/html"),
    Documentation("maint-guide", "usr/share/doc/maint-guide/html", "index.en.html"),
    Documentation("maxima-doc", "usr/share/doc/maxima-doc/html", "maxima_toc.html"),
    Documentation("mit-scheme-doc", "usr/share/doc/mit-scheme-doc/html"),
    Documentation("nodejs-doc", "usr/share/doc/nodejs/api"),
    Documentation("octave-doc", "usr/share/doc/octave/octave.html"),
    Documentation("openjdk-17-doc", "usr/share/doc/openjdk-17-jre-headless", "api/index.html"),
    Documentation("postfix-doc", "usr/share/doc/postfix/html"),
    Documentation("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html"),
    Documentation("python-django-doc", "usr/share/doc/python-django-doc/html"),
    Documentation("python-flask-doc", "usr/share/doc/python-flask-doc/html"),
    Documentation("python-pandas-doc", "usr/share/doc/python-pandas-doc/html"),
    Documentation("python-scipy-doc", "usr/share/doc/python-scipy-doc/html"),
    Documentation("python-sqlalchemy-doc", "usr/share/doc/python-sqlalchemy-doc/html"),
    Documentation("python-tornado-doc", "usr/share/doc/python-tornado-doc/html"),
    Documentation("python3.11-doc", "usr/share/doc/python3.11/html"),
    Documentation("qtbase5-doc-html", "usr/share/qt5/doc", "qtwidgets/qtwidgets-index.html"),
    Documentation("racket-doc", "usr/share/doc/racket"),
    Documentation("scala-doc", "usr/share/doc/scala-2.11/api/library"),
    Documentation("sphinx-doc", "usr/share/doc/sphinx-doc/html"),
    Documentation("sqlite3-doc", "usr/share/doc/sqlite3"),
    Documentation("swi-prolog-doc", "usr/share/swi-prolog/doc/Manual", "Contents.html"),
    Documentation("wx3.2-doc", "usr/share/doc/wx3.2-doc/html"),
)
"""Constants of the estimates were fitted to these."""
HELD_OUT = (
    Documentation("docutils-doc", "usr/share/doc/docutils-doc/docs"),
    Documentation("erlang-doc", "usr/share/doc/erlang-doc/doc"),
    Documentation("groovy-doc", "usr/share/doc/groovy/api"),
    Documentation("libcairo2-doc", "usr/share/gtk-doc/html/cairo"),
    Documentation(
        "libcommons-collections4-java-doc", "usr/share/doc/libcommons-collections4-java/api"
    ),
    Documentation("libgeos-doc", "usr/share/doc/libgeos-dev/html"),
    Documentation("libjogl2-java-doc", "usr/share/doc/libjogl2-java-doc/jogl/javadoc"),
    Documentation("libpango1.0-doc", "usr/share/doc/libpango1.0-doc/reference", "Pango/index.html"),
    Documentation("libsfml-doc", "usr/share/doc/libsfml-dev/html"),
    Documentation("libtiff-doc", "usr/share/doc/libtiff-doc/manual"),
    Documentation("llvm-14-doc", "usr/share/doc/llvm-14-doc/html"),
    Documentation("mpich-doc", "usr/share/doc/mpich-doc/html"),
    Documentation("python-statsmodels-doc", "usr/share/doc/python-statsmodels-doc/html"),
    Documentation("python-sympy-doc", "usr/share/doc/python-sympy-doc/html"),
    Documentation("vim-doc", "usr/share/doc/vim/html"),
)
"""Chosen before anything was measured on them, and looked at only at the end."""
SITES = TUNED_ON + HELD_OUT


def fetched(cache: Path, sites: Sequence[Documentation] = SITES) -> dict[str, Path]:
    """By package, its folder; what is not in ``cache`` yet is downloaded there."""
    cache.mkdir(parents=True, exist_ok=True)
    folders = {}
    for site in sites:
        home = cache / site.package
        if not home.exists():
            _unpack(site.package, home)
        folders[site.package] = home / site.folder
        if not (folders[site.package] / site.seed).exists():
            raise SystemExit(f"{site.package} has no {site.folder}/{site.seed}")
    return folders


def _unpack(package: str, home: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="headgate-") as name:
        try:
            subprocess.run(
                ["apt-get", "download", "-qq", package],
                cwd=name, check=True, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                f"apt-get cannot download {package}: run this on Debian 12, after apt-get update"
            ) from error
        (archive,) = Path(name).glob("*.deb")
        part = home.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run(["dpkg", "-x", archive, part], check=True)
        part.rename(home)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


_TOLD = "$msec $server_port $request_uri $status"


@contextlib.contextmanager
def served(folders: dict[str, Path], log: Path | None = None) -> Iterator[dict[str, str]]:
    """The sites' first pages by package, for as long as the context lasts. ``log`` gets a line for
    each answer: the time in seconds, the port, what was asked for, the status."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise SystemExit("install nginx-light first")
    ports = dict(zip(folders, free_ports(len(folders)), strict=True))
    with tempfile.TemporaryDirectory(prefix="headgate-") as name:
        work = Path(name)
        config = work / "nginx.conf"
        config.write_text(_config(work, folders, ports, log))
        nginx = subprocess.Popen([program, "-c", str(config), "-e", f"{work}/error.log"])
        try:
            seeds = {
                site.package: f"http://127.0.0.1:{ports[site.package]}/{site.seed}"
                for site in SITES if site.package in ports
            }  # fmt: skip
            for seed in seeds.values():
                _await(seed)
            yield seeds
        finally:
            nginx.terminate()
            nginx.wait()


def _config(work: Path, folders: dict[str, Path], ports: dict[str, int], log: Path | None) -> str:
    names = [site.package for site in SITES]
    servers = "".join(
        f"server {{ listen 127.0.0.1:{ports[package]}; root {root};"
        f" gzip {'on' if names.index(package) // 2 % 2 else 'off'}; }}\n"
        for package, root in folders.items()
    )
    scratch = "".join(
        f"{kind}_temp_path {work}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    told = "access_log off;"
    if log is not None:
        told = f"log_format told escape=none '{_TOLD}';\naccess_log {log} told;"
    user = "user root;\n" if os.geteuid() == 0 else ""
    return (
        f"{user}daemon off;\npid {work}/pid;\nerror_log {work}/error.log;\nevents {{}}\n"
        f"http {{\ninclude /etc/nginx/mime.types;\n{told}\nabsolute_redirect off;\n"
        f"keepalive_requests 1000000;\n{scratch}{servers}}}\n"
    )


def _await(seed: str) -> None:
    for _ in range(100):
        try:
            urllib.request.urlopen(seed, timeout=5).close()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{seed}: {error}") from error
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"nginx does not serve {seed}")
