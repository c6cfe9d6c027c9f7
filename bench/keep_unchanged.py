"""What it costs on the line to look through a site of which nothing changed, by http and https.

    python -m bench.keep_unchanged [--pages 10000]     (as root: it makes a network of its own)

nginx serves a documentation site of so many pages from a network namespace, over a link of its own,
so the link's counters are all that the keeper moved: answers, TLS, acknowledgements and the headers
of all packets, by direction. What arrives is what a budget counts. `headgate keep --once` fetches
the site; then the user wants it looked at (`--visit`), and every page is asked for once more. Needs
of Debian's packages nginx-light, openssl and iproute2.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headgate.storage.collection import Collection
from headgate.storage.memory.site import SiteMemory

_INSIDE = "HEADGATE_BENCH_INSIDE"
_MOST_BYTES = 400.0
_MOST_VISITS = 20
_HTTP, _HTTPS = 8080, 8443
_KEEPER, _SERVER = "10.77.0.1", "10.77.0.2"
_PARAGRAPH = (
    "<p>" + "The manual says how each part is called and what it gives back. " * 8 + "</p>\n"
)


def _write_site(root: Path, pages: int) -> None:
    """A tree with a hundred pages per chapter, each linked with its neighbours."""
    for number in range(pages):
        near = [other for other in (number - 1, number + 1) if 0 <= other < pages]
        below = [n for n in range(number * 100 + 1, number * 100 + 101) if n < pages]
        links = "".join(f'<a href="/{_name(n)}">part {n}</a>\n' for n in (*near, *below))
        title = f"<!doctype html><title>Part {number}</title><h1>Part {number}</h1>\n"
        (root / _name(number)).write_text(title + _PARAGRAPH * (4 + number % 8) + links)


def _name(number: int) -> str:
    return f"part{number}.html" if number else "index.html"


@contextmanager
def _serving(work: Path, root: Path) -> Iterator[Path]:
    """nginx on both ports; gives the certificate to trust."""
    made, key = work / "made.pem", work / "key.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", f"/CN={_SERVER}", "-addext", f"subjectAltName=IP:{_SERVER}"]
    command = ["openssl", *words.split(), *names, "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    scratch = "".join(f"{kind}_temp_path {work}/{kind};\n" for kind in kinds)
    config = work / "nginx.conf"
    config.write_text(
        f"user root;\ndaemon off;\npid {work}/pid;\nerror_log {work}/error.log;\nevents {{}}\n"
        f"http {{\ninclude /etc/nginx/mime.types;\naccess_log off;\n{scratch}"
        f"server {{ listen {_HTTP}; listen {_HTTPS} ssl; root {root};\n"
        f"ssl_certificate {made}; ssl_certificate_key {key}; }}\n}}\n"
    )
    serve = ["unshare", "--net", "nginx", "-c", str(config), "-e", f"{work}/error.log"]
    nginx = subprocess.Popen(serve)
    try:
        _link(nginx.pid)
        _await(f"http://{_SERVER}:{_HTTP}/")
        yield made
    finally:
        nginx.terminate()
        nginx.wait()


def _await(seed: str) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(seed, timeout=5).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"nginx does not serve {seed}")


def _link(server: int) -> None:
    """Between us and the process's network, once it has one of its own."""
    ours = Path("/proc/self/ns/net").readlink()
    while Path(f"/proc/{server}/ns/net").readlink() == ours:
        time.sleep(0.01)
    inside = f"nsenter --net=/proc/{server}/ns/net ip"
    for command in (
        f"ip link add kept type veth peer name served netns {server}",
        f"ip address add {_KEEPER}/24 dev kept",
        "ip link set kept up",
        f"{inside} address add {_SERVER}/24 dev served",
        f"{inside} link set served up",
    ):
        subprocess.run(command.split(), check=True)


def _carried() -> tuple[int, int]:
    """Bytes that the link brought and took, headers of packets included."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    words = next(line for line in lines if line.strip().startswith("kept:")).split()
    return int(words[1]), int(words[9])


def _headgate(certificate: Path, *words: str) -> None:
    environment = {**os.environ, "SSL_CERT_FILE": str(certificate)}
    subprocess.run([sys.executable, "-m", "headgate", *words], check=True, env=environment)


def _oldest_look(out: Path) -> tuple[float, int]:
    with SiteMemory(Collection(out).memory("manual"), "manual") as memory:
        return min(page.asked for page in memory), len(memory)


def _looked_through(work: Path, seed: str, certificate: Path) -> tuple[int, float, float]:
    """Pages, and bytes of a look at each that came and went."""
    scheme = seed.partition(":")[0]
    file, out = work / f"{scheme}.toml", work / scheme
    file.write_text(f'[site.manual]\nseeds = ["{seed}"]\ndelay = "0s"\n')
    keep = ("keep", str(file), "--out", str(out), "--once", "--quiet")
    _headgate(certificate, *keep)
    began, visits = time.time(), 0
    came, went = _carried()
    while _oldest_look(out)[0] < began and visits < _MOST_VISITS:
        _headgate(certificate, "keep", "--visit", "manual", "--out", str(out))
        _headgate(certificate, *keep)
        visits += 1
    pages = _oldest_look(out)[1]
    all_came, all_went = _carried()
    return pages, (all_came - came) / pages, (all_went - went) / pages


def _measure(pages: int) -> int:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    held = True
    with tempfile.TemporaryDirectory() as name:
        work, root = Path(name), Path(name) / "site"
        root.mkdir()
        _write_site(root, pages)
        with _serving(work, root) as certificate:
            for scheme, port in (("http", _HTTP), ("https", _HTTPS)):
                seed = f"{scheme}://{_SERVER}:{port}/index.html"
                found, came, went = _looked_through(work, seed, certificate)
                held &= found == pages and came <= _MOST_BYTES
                print(
                    f"{scheme}: {found:,} pages, {came:.0f} bytes each came (at most"
                    f" {_MOST_BYTES:.0f}) and {went:.0f} went, packet headers included"
                )
    return 0 if held else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=10_000)
    args = parser.parse_args()
    if os.environ.get(_INSIDE):
        return _measure(args.pages)
    command = ["unshare", "--net", sys.executable, "-m", "bench.keep_unchanged"]
    environment = {**os.environ, _INSIDE: "1"}
    words = [*command, "--pages", str(args.pages)]
    return subprocess.run(words, check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
