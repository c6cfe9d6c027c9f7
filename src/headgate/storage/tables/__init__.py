"""Tables of runs as Parquet, and their rows in other formats."""
