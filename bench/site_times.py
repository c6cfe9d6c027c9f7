"""How long does a site take at a rate, and how does that grow with its size? Zhu's Fig. 11, 12.

    python -m bench.site_times [--only KIND ...]

Three documentation sites from Debian's packages, served by nginx in a network namespace 20 ms away:
text in small pages, text in large ones, and pages with their pictures. Each is crawled alone,

Fig. 11    whole, at five rates
Fig. 12    at one rate, up to a quarter, half, three quarters and all of its pages

and its time, from start to end, is set against D / v, payload over rate. α of Eq. 17 is the slope
of t·v over D through all of a site's crawls: what headers, requests and waiting add to payload. The
paper's sites were of text, pictures and video as of 2020. The report of the lab shows what this
printed (`headgate_lab.papers.zhu2020.real_crawls`). Root is needed, and nginx (apt-get install
nginx-light); about six minutes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from bench.arguments import parser
from bench.documentation import SITES, fetched
from bench.policies import CACHE, RTT_SECONDS, crawled, start_nginx

from headgate_lab.bed.network import Bed, ServerPath, missing, server_address

KINDS = {
    "small pages": ("python-flask-doc", ""),
    "large pages": ("bind9-doc", ""),
    "with pictures": ("debian-handbook", 'requisites = "page"\ninclude = ["/en-US/"]\n'),
}
RATES = (100e3, 200e3, 300e3, 400e3, 500e3)
ONE_RATE = 300e3
PARTS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Crawled:
    rate: float
    payload: int
    pages: int
    seconds: float


def crawl(bed: Bed, number: int, kind: str, rate: float, most_pages: int | None = None) -> Crawled:
    package, more = KINDS[kind]
    seed = next(site.seed for site in SITES if site.package == package)
    text = (
        f'[budget]\nbandwidth = "{rate:.0f} B/s"\n[site."{kind}"]\n'
        f'seeds = ["http://{server_address(number)}/{seed}"]\ndelay = 0\n{more}'
        + (f"max_pages = {most_pages}\n" if most_pages else "")
    )
    report, _ = crawled(bed, text)
    site = report.sites[0]
    assert site.started is not None, "it was crawled"
    assert site.finished is not None, "to its end"
    found = Crawled(rate, site.bytes, site.pages, site.finished - site.started)
    alpha = found.seconds * rate / found.payload
    print(
        f'    Crawled("{kind}", {rate:.0f}, {found.payload}, {found.pages},'
        f" {found.seconds:.2f}),  # t·v/D {alpha:.3f}",
        flush=True,
    )
    return found


def slope(crawls: list[Crawled]) -> float:
    """Of t·v over D, through nothing at no data."""
    work = np.array([one.seconds * one.rate for one in crawls])
    payload = np.array([float(one.payload) for one in crawls])
    return float((work * payload).sum() / (payload**2).sum())


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    asked = arguments.parse_args()
    if why := missing():
        print(f"bench.site_times: {why}")
        return 2
    packages = [package for package, _ in KINDS.values()]
    documents = [site for package in packages for site in SITES if site.package == package]
    roots = list(fetched(CACHE, documents).values())
    paths = [ServerPath(server_address(k), RTT_SECONDS) for k in range(len(documents))]
    with Bed(paths) as bed:
        start_nginx(bed, roots)
        for number, kind in enumerate(KINDS):
            if kind not in asked.only:
                continue
            crawls = [crawl(bed, number, kind, rate) for rate in RATES]
            whole = crawls[0].pages
            crawls += [crawl(bed, number, kind, ONE_RATE, round(part * whole)) for part in PARTS]
            print(f"# {kind}: α {slope(crawls):.3f} over {len(crawls)} crawls", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
