"""Fleets: nodes in this process, in several, or on other machines; and making way for others.

`processes` runs nodes in separate processes, `desk` serves nodes elsewhere; control sees a `Fleet`
in either case.
"""
