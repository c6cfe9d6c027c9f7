"""Scrapy under a budget: ``ADDONS = {"headgate.scrapy.Addon": 500}`` in a project's settings.

A door like the command line. Spiders, middlewares and pipelines stay as they are; what they ask for
is fetched by Headgate's own fetcher, and its manager shares the line among their sites.

| module         | in one line                                                              |
|----------------|--------------------------------------------------------------------------|
| `addon`        | what Scrapy loads: puts the handler and the check into the settings      |
| `terms`        | the settings read: budget, sites, how to behave; or what is wrong        |
| `check`        | an extension: refuses to start where somebody else would fetch           |
| `handler`      | the download handler: one for each scheme of each spider                 |
| `seat`         | one spider: its requests in, its responses out, its slots                |
| `line`         | what all spiders of an event loop share: fetcher, manager, report        |
| `spider_fleet` | the port of the manager: sites are run by spiders                        |
| `spider_site`  | one site's counters                                                      |
| `archive`      | responses as a run of a collection, where that is wanted                 |
| `naming`       | which site a request belongs to                                          |
| `translating`  | requests and responses from one world to the other                       |
| `sharing`      | equal shares, where no site file says better                             |
"""

from headgate.scrapy.addon import Addon

__all__ = ["Addon"]
