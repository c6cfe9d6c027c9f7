"""Simulated webs; the small one of ``headgate demo`` is served on real sockets."""
