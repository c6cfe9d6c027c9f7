"""A survey's page, graph and words for a terminal."""
