"""WARC 1.1: records, files of them, the index, and what is read back, copied and packed."""
