"""Tables of runs as Parquet, and rows of them given out in other forms."""
