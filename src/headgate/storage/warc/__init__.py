"""WARC 1.1: writing and reading records and files, the index, copies and WACZ packages."""
