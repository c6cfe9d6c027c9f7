"""Bytes to meaning: what a URL, a page, a robots file, a sitemap or a header says.

Nothing here fetches, waits or keeps state; every function takes bytes or text from a stranger and
answers with a value. None of them raises on what a server may send: broken input gives the part
that can be understood, and time and memory grow with the input's length, not faster.
"""
