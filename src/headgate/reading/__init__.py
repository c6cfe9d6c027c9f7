"""Parsing: URLs, pages, robots.txt, sitemaps, headers.

Pure functions from untrusted bytes or text to values. None raises on what a server may send: of
broken input, the part that can be understood is returned. Time and memory are linear in the length
of the input.
"""
