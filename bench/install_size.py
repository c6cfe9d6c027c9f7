"""How much does an install take, and does a plain one work? In a fresh virtual environment.

    python -m bench.install_size

Builds the wheel from an sdist of this folder, as the package index gets both, and installs it and
then each of its extras in turn, with the versions of constraints.txt, into an environment without
pip. A row says what came: megabytes on disk, packages, the largest of them. Before any extra is
there, the plain install has to plan an example, run the demo, and crawl, survey, report and export
a small site of this folder's on loopback. The exit code is 1 where one of them fails or the plain
install has more than MOST_MB. Needs the package index and some minutes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distributions
from pathlib import Path

from bench.arguments import parser

MOST_MB = 330.0
ROOT = Path(__file__).parents[1]
DEVELOPERS = frozenset({"dev", "all"})
"""Extras that are no feature of their own."""
LARGEST = 4


def main() -> int:
    parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = _wheel(Path(folder))
        environment = Path(folder, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        print(f"{'':<12} {'MB':>6} {'packages':>9}  largest")
        plain = _installed(environment, str(wheel))
        total = _show("plain", plain, {})
        failed = not _works(environment, Path(folder))
        before = plain
        for extra in _extras():
            after = _installed(environment, f"{wheel}[{extra}]")
            _show(f"[{extra}]", after, before)
            before = after
    if total > MOST_MB:
        print(f"a plain install has more than {MOST_MB:.0f} MB")
    return int(failed or total > MOST_MB)


def _extras() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [name for name in project["optional-dependencies"] if name not in DEVELOPERS]


def _wheel(folder: Path) -> Path:
    """Made of an sdist, which is made of what git has: nothing that lies about here gets in."""
    tree = folder / "tree"
    tree.mkdir()
    subprocess.run(f"git archive HEAD | tar -x -C {tree}", shell=True, cwd=ROOT, check=True)
    sdist = (
        "import setuptools.build_meta as build, os; os.chdir('tree'); build.build_sdist('../built')"
    )
    subprocess.run([sys.executable, "-c", sdist], cwd=folder, check=True, capture_output=True)
    (packed,) = (folder / "built").glob("*.tar.gz")
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder / "built"), str(packed))
    (wheel,) = (folder / "built").glob("*.whl")
    return wheel


def _installed(environment: Path, what: str) -> dict[str, int]:
    """Bytes on disk by package once that is installed, too."""
    constraints = str(ROOT / "constraints.txt")
    _pip("--python", str(environment), "install", "--constraint", constraints, what)
    (packages,) = environment.glob("lib/python*/site-packages")
    return {
        found.name: sum(map(_bytes_on_disk, found.files or ()))
        for found in distributions(path=[str(packages)])
    }


def _bytes_on_disk(file: object) -> int:
    path = Path(str(file.locate()))  # type: ignore[attr-defined]
    return path.stat().st_blocks * 512 if path.exists() else 0


def _pip(*words: str) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *words], check=True)


def _show(name: str, after: dict[str, int], before: dict[str, int]) -> float:
    came = {package: size for package, size in after.items() if package not in before}
    largest = sorted(came, key=came.__getitem__, reverse=True)[:LARGEST]
    words = ", ".join(f"{package} {came[package] / 1e6:.0f}" for package in largest)
    total = sum(came.values()) / 1e6
    print(f"{name:<12} {total:>6.0f} {len(came):>9}  {words}", flush=True)
    return total


def _works(environment: Path, folder: Path) -> bool:
    """Whether the plain install does what it is for."""
    headgate, out = str(environment / "bin" / "headgate"), str(folder / "out")
    with _served(folder) as site:
        (folder / "list.txt").write_text(site, encoding="utf-8")
        commands = [
            ["plan", "--example", "six-sites", "--compare"],
            ["demo", "--out", str(folder / "demo")],
            ["crawl", site, "--out", out, "--quiet"],
            ["survey", str(folder / "list.txt"), "--out", out, "--delay", "0s", "--quiet"],
            ["report", out],
            ["export", out],
        ]
        return all(_runs([headgate, *words], folder) for words in commands)


def _runs(command: list[str], folder: Path) -> bool:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    right = done.returncode == 0
    print(f"  headgate {command[1]}: {'works' if right else done.stderr.strip()}", flush=True)
    return right


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Ten pages in a row, on loopback."""
    pages = folder / "pages"
    pages.mkdir()
    for number in range(10):
        text = f"<title>{number}</title><a href=/{number + 1}.html>on</a>"
        (pages / f"{number}.html").write_text(text, encoding="utf-8")
    handler = partial(_Silent, directory=str(pages))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/0.html"
        server.shutdown()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


if __name__ == "__main__":
    sys.exit(main())
