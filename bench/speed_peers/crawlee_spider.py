# mypy: ignore-errors
"""Crawlee on one site, run by its own Python: `crawlee_spider.py URL`.

Its fastest crawler that finds links, queue in memory, as much at once as it likes up to 64, no
log. Nothing is stored.
"""

import asyncio
import logging
import sys

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient


async def main(url):
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=16, desired_concurrency=32, max_concurrency=64
        ),
        configure_logging=False,
    )
    logging.disable(logging.INFO)
    done = []

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        done.append(context.request.url)
        await context.enqueue_links()

    await crawler.run([url])
    print("pages", len(done))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
