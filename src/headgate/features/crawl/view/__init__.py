"""A running crawl for a terminal or a log."""
