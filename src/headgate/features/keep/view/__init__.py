"""A keeper's page and its words for a terminal."""
