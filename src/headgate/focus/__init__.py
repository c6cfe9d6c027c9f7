"""Which pages are worth fetching first: scores from 0 to 1 for links, relevance for pages.

Pure: pages come in as `PageSigns`, what was read of them; scores go out. What an order is, and how
long a URL waits for its turn, is the frontier's business. Everything here learns while it goes and
holds a bounded amount.
"""
