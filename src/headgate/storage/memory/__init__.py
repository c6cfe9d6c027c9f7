"""What a collection knows of its sites' pages, over all runs."""
