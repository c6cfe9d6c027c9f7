# mypy: ignore-errors
"""Scrapy on one or more sites, run by its own Python: `scrapy_spider.py plain|fast URL...`.

plain: a spider as its tutorial writes it, settings untouched. fast: whatever helps and Scrapy has
a setting for; links by lxml straight from the bytes, no selector, no middleware but what a fetch
needs: that of the time-out, without which it is ten seconds, so that on a busy machine Scrapy drops
pages that wait for it, and all that only they lead to. Both stay on the hosts they begin at.
Neither stores anything.
"""

import sys
from urllib.parse import urljoin, urlsplit

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
    "DOWNLOADER_MIDDLEWARES_BASE": {
        "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware": 350
    },
    "EXTENSIONS_BASE": {},
}


class Plain(scrapy.Spider):
    name = "plain"
    pages = 0

    def parse(self, response):
        if isinstance(response, scrapy.http.HtmlResponse):
            type(self).pages += 1
            yield from response.follow_all(css="a")


class Fast(scrapy.Spider):
    name = "fast"
    pages = 0

    def parse(self, response):
        base = response.url
        prefix = base[: base.index("/", 8) + 1]
        if location := response.headers.get("Location"):
            yield scrapy.Request(urljoin(base, location.decode()))
        if response.status != 200 or b"html" not in response.headers.get("Content-Type", b""):
            return
        type(self).pages += 1
        targets = set()
        for href in lxml.html.fromstring(response.body).xpath("//a/@href"):
            try:
                targets.add(urljoin(base, href.partition("#")[0]))
            except ValueError:
                continue
        for target in targets:
            if target.startswith(prefix):
                yield scrapy.Request(target)


if __name__ == "__main__":
    manner, *urls = sys.argv[1:]
    spider = Fast if manner == "fast" else Plain
    process = CrawlerProcess(FAST if manner == "fast" else {})
    hosts = [urlsplit(url).hostname for url in urls]
    process.crawl(spider, start_urls=urls, allowed_domains=hosts)
    process.start()
    print("pages", spider.pages)
