# mypy: ignore-errors
"""Scrapy on one site, run by its own Python: `scrapy_spider.py URL plain|fast`.

plain: a spider as its tutorial writes it, settings untouched. fast: whatever helps and Scrapy has
a setting for; links by lxml straight from the bytes, no selector, no middleware but what a fetch
needs. Neither stores anything.
"""

import sys
from urllib.parse import urljoin

import lxml.html
import scrapy
from scrapy.crawler import CrawlerProcess

FAST = {
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "LOG_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "HTTPCACHE_ENABLED": False,
    "COMPRESSION_ENABLED": False,
    "AJAXCRAWL_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "REFERER_ENABLED": False,
    "DNSCACHE_ENABLED": True,
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "SPIDER_MIDDLEWARES_BASE": {},
    "DOWNLOADER_MIDDLEWARES_BASE": {},
    "EXTENSIONS_BASE": {},
}


class Plain(scrapy.Spider):
    name = "plain"
    pages = 0

    def parse(self, response):
        type(self).pages += 1
        yield from response.follow_all(css="a")


class Fast(Plain):
    name = "fast"

    def parse(self, response):
        Plain.pages += 1
        base = response.url
        for href in lxml.html.fromstring(response.body).xpath("//a/@href"):
            yield scrapy.Request(urljoin(base, href))


if __name__ == "__main__":
    url, manner = sys.argv[1:]
    process = CrawlerProcess(FAST if manner == "fast" else {})
    process.crawl(Fast if manner == "fast" else Plain, start_urls=[url])
    process.start()
    print("pages", Plain.pages)
