"""``headgate demo``: a small web on loopback to crawl."""
