"""A plan as page, text and JSON."""
