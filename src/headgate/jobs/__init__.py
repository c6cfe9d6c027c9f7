"""What a user asks for, from end to end: crawl and survey, begun, resumed and wrapped up.

The one room that wires the others together; the command line, `headgate.crawl` and
`headgate.survey` call it.
"""
