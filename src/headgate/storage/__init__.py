"""What a crawl leaves on disk, and how it survives a crash.

From the bottom up: `faults` turns the disk's errors into ours; `appending` is a file that only
grows; `records` forms WARC records and `warc` writes them; `journal` keeps what a site run did;
`spool` ties the last two so that a page is stored wholly or not at all; `spill` holds URLs that do
not fit in memory. At the end of a run `sealing` turns journals into `index` (CDXJ), `tables`
(Parquet), and `remembering` merges the run into what is known of its sites: `page_memory` says what
a look at a page changes, `site_memory` reads the file and `memory_merging` writes it. `known_pages`
is how the next run profits from it, `stored_response` reads an archived page back. `collection` is
the folder around it all and `catalog` the small database of sites and runs.

Everything here is synchronous; callers choose the thread.
"""
