"""The node: crawls the sites it is given, each at its rate, and reports their progress.

`ports` has the interfaces it needs, `site_run` crawls one site, `node` runs several at once.
"""
