"""Nodes reached: in this process, or in several; and made to step back for others on the line.

`processes` runs nodes in processes of their own; who is asked to crawl is a `Fleet` in any case.
"""
