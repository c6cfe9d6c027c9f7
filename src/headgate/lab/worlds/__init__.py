"""Webs to crawl without the Web: the small one of ``headgate demo`` is served on real sockets."""
