"""Surveying: which pages to request from which server, to find the most hosts with the least load.

Pure: events in, commands out. `features.survey.run` performs them, and the lab simulates them on a
virtual web.
"""
