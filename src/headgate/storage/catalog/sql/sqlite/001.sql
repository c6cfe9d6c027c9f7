-- Runs, sites and visits. Times are seconds since 1970, sizes bytes, rates bytes per second.
CREATE TABLE runs (
    stamp    TEXT PRIMARY KEY,            -- the name of the run's folder
    started  REAL NOT NULL,
    finished REAL,                        -- null: not yet, or the process died
    outcome  TEXT NOT NULL DEFAULT 'running'
             CHECK (outcome IN ('running', 'finished', 'interrupted', 'failed')),
    settings TEXT NOT NULL                -- JSON: what the run was asked to do
) STRICT;
CREATE TABLE sites (
    name      TEXT PRIMARY KEY,
    first_run TEXT NOT NULL REFERENCES runs (stamp),
    last_run  TEXT NOT NULL REFERENCES runs (stamp)
) STRICT;
CREATE TABLE visits (
    site          TEXT NOT NULL REFERENCES sites (name),
    run           TEXT NOT NULL REFERENCES runs (stamp),
    started       REAL NOT NULL,
    finished      REAL NOT NULL,
    seconds       REAL NOT NULL,          -- spent crawling, pauses left out
    pages         INTEGER NOT NULL,
    payload_bytes INTEGER NOT NULL,
    wire_bytes    INTEGER NOT NULL,
    alpha         REAL,                   -- Zhu 2020, Eq. 17; null: not measured
    complete      INTEGER NOT NULL,       -- 0: stopped with URLs left to do
    PRIMARY KEY (site, run)
) STRICT, WITHOUT ROWID;
CREATE TABLE visit_errors (
    site  TEXT NOT NULL,
    run   TEXT NOT NULL,
    kind  TEXT NOT NULL,                  -- a failure kind, or a status like '404'
    count INTEGER NOT NULL,
    PRIMARY KEY (site, run, kind),
    FOREIGN KEY (site, run) REFERENCES visits (site, run)
) STRICT, WITHOUT ROWID;
CREATE TABLE server_speeds (
    host               TEXT PRIMARY KEY,
    measured           REAL NOT NULL,
    bytes_per_second   REAL NOT NULL,     -- the most the server gave
    first_byte_seconds REAL NOT NULL      -- from a request to the first byte of its response
) STRICT, WITHOUT ROWID;
