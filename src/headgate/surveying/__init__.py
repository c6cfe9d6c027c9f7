"""Surveying: which pages to ask of which server, to learn the most hosts for the least load.

Pure: events in, commands out. `crawling` performs them and `lab` plays them on a virtual web.
"""
