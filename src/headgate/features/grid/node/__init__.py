"""A machine lent to a grid: it claims tasks, crawls them as a guest, and brings the results."""
