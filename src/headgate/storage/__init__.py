"""What a crawl leaves on disk, and how it survives a crash.

From the bottom up: `safe_files` turns the disk's errors into ours; `journals` keep what site runs
did, and their `spool` stores a page wholly or not at all, together with its records in `warc`;
`spill` holds URLs that do not fit in memory. At the end of a run `sealing` turns journals into the
index (CDXJ) and `tables` (Parquet) and merges the run into the `memory` of its sites, from which
the next run profits; `retention` removes versions that need not stay. `collection` is the folder
around it all and `catalog` the small database of sites, runs, servers and a grid's board.

Everything here is synchronous; callers choose the thread.
"""
