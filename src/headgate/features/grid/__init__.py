"""``headgate manager`` and ``headgate node``: one crawl, many machines, tasks under leases."""
