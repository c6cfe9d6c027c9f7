"""``headgate crawl`` and ``headgate.crawl(...)``: sites within a budget, by their deadlines."""
