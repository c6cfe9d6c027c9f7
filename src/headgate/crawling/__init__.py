"""The node: it crawls the sites it is given, each at its rate, and tells how they fare.

`ports` is what it needs from outside, `site_run` crawls one site, `node` runs several at once.
`clock` is the one place of the program that reads the real time.
"""
