"""``headgate changes``: pages that are new, changed or gone."""
