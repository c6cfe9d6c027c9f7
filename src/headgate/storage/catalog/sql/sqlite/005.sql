-- A keeper visits a site again and again in one run, and has a state of each.
ALTER TABLE visits RENAME TO visits_4;
ALTER TABLE visit_errors RENAME TO visit_errors_4;
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
    visit         INTEGER NOT NULL DEFAULT 0,  -- the site's how-manieth, in a volume of a keeper
    why           TEXT NOT NULL DEFAULT '',    -- index, promise, first or user; of a keeper's
    asked         INTEGER NOT NULL DEFAULT 0,  -- pages looked at, and what was found of them
    changed       INTEGER NOT NULL DEFAULT 0,
    same          INTEGER NOT NULL DEFAULT 0,
    new           INTEGER NOT NULL DEFAULT 0,
    gone          INTEGER NOT NULL DEFAULT 0,
    saved_bytes   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (site, run, visit)
) STRICT, WITHOUT ROWID;
CREATE TABLE visit_errors (
    site  TEXT NOT NULL,
    run   TEXT NOT NULL,
    kind  TEXT NOT NULL,                  -- a failure kind, or a status like '404'
    count INTEGER NOT NULL,
    visit INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (site, run, visit, kind),
    FOREIGN KEY (site, run, visit) REFERENCES visits (site, run, visit)
) STRICT, WITHOUT ROWID;
INSERT INTO visits
    (site, run, started, finished, seconds, pages, payload_bytes, wire_bytes, alpha, complete)
SELECT site, run, started, finished, seconds, pages, payload_bytes, wire_bytes, alpha, complete
FROM visits_4;
INSERT INTO visit_errors (site, run, kind, count)
SELECT site, run, kind, count FROM visit_errors_4;
DROP TABLE visit_errors_4;
DROP TABLE visits_4;
CREATE TABLE site_state (   -- sites of a keeper, between two visits
    site          TEXT PRIMARY KEY,
    visit         INTEGER NOT NULL,       -- the last that was made
    asked         REAL NOT NULL,
    outlook       BLOB NOT NULL,          -- what the board knows of it
    connection_bytes REAL,                -- learned of its servers, with the next two
    request_bytes REAL,
    look_seconds  REAL,
    paused_until  REAL NOT NULL,
    down          INTEGER NOT NULL,       -- visits in a row to which nobody answered
    suspicions    INTEGER NOT NULL,       -- visits in a row that were not believed
    trouble       TEXT NOT NULL,
    trouble_since REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE promises (
    site    TEXT NOT NULL,
    due     REAL NOT NULL,                -- every page was to be looked at by then
    settled REAL NOT NULL,                -- when that was so, or found to be late
    PRIMARY KEY (site, due)
) STRICT, WITHOUT ROWID;
