"""One large site on several nodes: how much sooner it is done, in virtual time.

    TMPDIR=/dev/shm python -m bench.grid_shared [--pages 4000] [--kb 20] [--bandwidth 500KB/s]
                                                [--nodes 1,2,4,8]

Manager, desk, board, catalog and workers are the product's own; the web, the time and the line are
simulated (`bench.shared_world`). Each node has a bandwidth of its own, which is the bottleneck: the
site is at one host without a delay and says `nodes_at_once`. Each page links to ten others. The
bound is as if all nodes had fetched at their full rate from the first moment to the last.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.arguments import parser
from bench.shared_world import BEGIN, LinkedWeb, SharedWorld, stored

from headgate.model.site import Site
from headgate.model.units import BytesPerSecond, Seconds, parse_rate
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

_LINKS = 10


def web_of(pages: int, page_bytes: int) -> LinkedWeb:
    urls = [f"http://large.test/{number}" for number in range(pages)]
    links = {
        url: urls[_LINKS * number + 1 : _LINKS * number + _LINKS + 1]
        for number, url in enumerate(urls)
    }
    return LinkedWeb(links, page_bytes=page_bytes)


def crawled(folder: Path, web: LinkedWeb, nodes: int, bandwidth: BytesPerSecond) -> float:
    """Seconds from the first request to the last; every page is stored once."""
    site = Site("large", ("http://large.test/0",), nodes_at_once=nodes, delay=Seconds(0.0))

    async def played(loop: VirtualLoop) -> None:
        world = SharedWorld(folder, VirtualClock(loop, BEGIN), web, (site,))
        manager = world.start_manager()
        await asyncio.sleep(1.0)
        for number in range(nodes):
            world.start_node(f"n{number}", bandwidth=bandwidth)
        try:
            await manager
        finally:
            await world.close()

    run_virtually(played)
    found = stored(folder / "collection")
    assert found == Counter(f"large {url}" for url in web.links), "pages are lost or doubled"
    times = [at for at, _, _ in web.asked]
    return max(times) - min(times)


def main() -> None:
    words = parser(__doc__)
    words.add_argument("--pages", type=int, default=4000)
    words.add_argument("--kb", type=int, default=20, help="of a page")
    words.add_argument("--bandwidth", default="500KB/s", help="of each node")
    words.add_argument("--nodes", default="1,2,4,8")
    asked = words.parse_args()
    bandwidth = parse_rate(asked.bandwidth)
    print("nodes  seconds   gain  of the bound  fetched twice   CPU")
    alone = 0.0
    for nodes in map(int, asked.nodes.split(",")):
        web, began = web_of(asked.pages, 1000 * asked.kb), time.process_time()
        with tempfile.TemporaryDirectory(prefix="headgate-") as folder:
            seconds = crawled(Path(folder), web, nodes, bandwidth)
        alone = alone or seconds
        bound = asked.pages * 1000 * asked.kb / (nodes * bandwidth)
        twice = sum(web.times().values()) - asked.pages
        print(
            f"{nodes:>5}  {seconds:>7.0f}  {alone / seconds:>5.2f}  {bound / seconds:>12.2f}"
            f"  {twice:>13}  {time.process_time() - began:>4.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
