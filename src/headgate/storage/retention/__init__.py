"""Removes old versions of pages; everything that stays can still be replayed."""
