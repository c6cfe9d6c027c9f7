"""Scrapy under a budget: ``ADDONS = {"headgate.scrapy.Addon": 500}`` in a project's settings.

A door like the command line. Spiders, middlewares and pipelines stay as they are; what they ask for
is fetched by Headgate's own fetcher, and its manager shares the line among their sites.

| module           | in one line                                                            |
|------------------|------------------------------------------------------------------------|
| `addon`          | what Scrapy loads: the add-on, the check that nobody else fetches, the |
|                  | download handler                                                       |
| `settings`       | the settings read: budget, sites, how to behave; or what is wrong      |
| `spider_client`  | one spider: its requests in, its responses out, its slots              |
| `shared_session` | what all spiders of an event loop share: fetcher, manager, report      |
| `spider_fleet`   | the port of the manager: sites are run by spiders                      |
| `archive`        | responses as a run of a collection, where that is wanted               |
| `translating`    | requests and responses from one world to the other                     |
"""

from headgate.scrapy.addon import Addon

__all__ = ["Addon"]
