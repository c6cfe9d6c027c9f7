-- What came over the line, for quotas.
CREATE TABLE line_use (
    slot  INTEGER PRIMARY KEY,            -- a quarter of an hour: seconds since 1970 / 900
    bytes INTEGER NOT NULL                -- that came over the line in it, over all runs
) STRICT;
