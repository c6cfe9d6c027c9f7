"""Journals and the log of a survey: what makes work durable, and is gone on from."""
