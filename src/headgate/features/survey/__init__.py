"""A survey from end to end: request, start, resumption, results."""
