"""What a user asks for, from end to end: crawl, keep, survey, lend, export.

The one room that wires the others together. The command line, `headgate.crawl` and
`headgate.survey` call it.
"""
