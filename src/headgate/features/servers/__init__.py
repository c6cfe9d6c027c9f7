"""``headgate servers``: how fast each server is, by the hour."""
