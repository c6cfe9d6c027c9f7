"""Journals and the log of a survey: they make work durable, and runs are resumed from them."""
