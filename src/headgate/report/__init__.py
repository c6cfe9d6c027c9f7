"""Presentation: texts, terminal views, pages and charts. Values in, text out."""
