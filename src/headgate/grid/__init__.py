"""Nodes put together and reached: in this process, or in several.

`parts` wires a node from fetching and storage; `processes` runs nodes in processes of their own.
"""
