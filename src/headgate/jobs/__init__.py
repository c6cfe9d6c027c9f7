"""What a user asks for, from end to end: crawled, kept, surveyed, lent, exported.

The one room that wires the others together; the command line, `headgate.crawl` and
`headgate.survey` call it.
"""
