-- The catalog: sites and runs, never pages, so that it stays small at any scale.
-- Times are seconds since 1970, sizes bytes, rates bytes per second.

-- name: version
-- Which layout of the tables the file has; 0 in a new one.
PRAGMA user_version;

-- name: foreign
-- Anything that would do more than hold rows; we lay out nothing of the kind.
SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view') LIMIT 1;

-- name: schema
-- Lays the tables out; the number at the end is what `version` answers from then on.
CREATE TABLE IF NOT EXISTS runs (
    stamp    TEXT PRIMARY KEY,            -- the name of the run's folder
    started  REAL NOT NULL,
    finished REAL,                        -- null: not yet, or the process died
    outcome  TEXT NOT NULL DEFAULT 'running'
             CHECK (outcome IN ('running', 'finished', 'interrupted', 'abandoned')),
    settings TEXT NOT NULL                -- JSON: what the run was asked to do
) STRICT;
CREATE TABLE IF NOT EXISTS sites (
    name      TEXT PRIMARY KEY,
    first_run TEXT NOT NULL REFERENCES runs (stamp),
    last_run  TEXT NOT NULL REFERENCES runs (stamp)
) STRICT;
CREATE TABLE IF NOT EXISTS visits (
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
CREATE TABLE IF NOT EXISTS visit_errors (
    site  TEXT NOT NULL,
    run   TEXT NOT NULL,
    kind  TEXT NOT NULL,                  -- a failure kind, or a status like '404'
    count INTEGER NOT NULL,
    visit INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (site, run, visit, kind),
    FOREIGN KEY (site, run, visit) REFERENCES visits (site, run, visit)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS site_state (   -- sites of a keeper, between two visits
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
CREATE TABLE IF NOT EXISTS promises (
    site    TEXT NOT NULL,
    due     REAL NOT NULL,                -- every page was to be looked at by then
    settled REAL NOT NULL,                -- when that was so, or found to be late
    PRIMARY KEY (site, due)
) STRICT, WITHOUT ROWID;
DROP TABLE IF EXISTS server_speeds;       -- of version 1: one rate per site
CREATE TABLE IF NOT EXISTS servers (
    address   TEXT PRIMARY KEY,           -- an IP address
    measured  REAL NOT NULL,              -- when last
    measures  INTEGER NOT NULL,
    estimates BLOB NOT NULL               -- as traffic/server_speed.py encodes them, 0.4 KB
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS server_hosts (
    host    TEXT NOT NULL,
    address TEXT NOT NULL REFERENCES servers (address),
    seen    REAL NOT NULL,                -- when the host was last found at the address
    PRIMARY KEY (host, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hosts_of_server ON server_hosts (address);
CREATE TABLE IF NOT EXISTS line_use (
    slot  INTEGER PRIMARY KEY,            -- a quarter of an hour: seconds since 1970 / 900
    bytes INTEGER NOT NULL                -- that came over the line in it, over all runs
) STRICT;
PRAGMA user_version = 5;

-- name: upgrade
-- From version 4 or before, where a run visited each site once: puts aside what has another form
-- now. `schema` and `move_in` follow.
ALTER TABLE visits RENAME TO visits_4;
ALTER TABLE visit_errors RENAME TO visit_errors_4;

-- name: move_in
-- What `upgrade` put aside, into the tables as they are now.
INSERT OR IGNORE INTO visits
    (site, run, started, finished, seconds, pages, payload_bytes, wire_bytes, alpha, complete)
SELECT site, run, started, finished, seconds, pages, payload_bytes, wire_bytes, alpha, complete
FROM visits_4;
INSERT OR IGNORE INTO visit_errors (site, run, kind, count)
SELECT site, run, kind, count FROM visit_errors_4;
DROP TABLE visit_errors_4;
DROP TABLE visits_4;

-- name: begin_run
-- A run starts, or goes on after an interruption.
INSERT INTO runs (stamp, started, settings) VALUES (:stamp, :started, :settings)
ON CONFLICT (stamp) DO UPDATE SET finished = NULL, outcome = 'running';

-- name: end_run
-- A run came to its end, this way or that.
UPDATE runs SET finished = :finished, outcome = :outcome WHERE stamp = :stamp;

-- name: runs
-- All runs, the newest first.
SELECT stamp, started, finished, outcome, settings FROM runs ORDER BY started DESC, stamp DESC;

-- name: see_site
-- Remembers that a run visits a site.
INSERT INTO sites (name, first_run, last_run) VALUES (:site, :run, :run)
ON CONFLICT (name) DO UPDATE SET last_run = :run;

-- name: record_visit
-- What a visit amounted to; a resumed visit replaces what was known of it.
INSERT OR REPLACE INTO visits
    (site, run, started, finished, seconds, pages, payload_bytes, wire_bytes, alpha, complete,
     visit, why, asked, changed, same, new, gone, saved_bytes)
VALUES
    (:site, :run, :started, :finished, :seconds, :pages, :payload_bytes, :wire_bytes, :alpha,
     :complete, :visit, :why, :asked, :changed, :same, :new, :gone, :saved_bytes);

-- name: clear_errors
-- Makes room for the error counts of a visit that is recorded again.
DELETE FROM visit_errors WHERE site = :site AND run = :run AND visit = :visit;

-- name: record_errors
-- How often a visit failed in one way.
INSERT INTO visit_errors (site, run, visit, kind, count)
VALUES (:site, :run, :visit, :kind, :count);

-- name: history
-- The last visits to a site, the newest first: what predictions are made from.
SELECT site, run, started, finished, seconds, pages, payload_bytes, wire_bytes, alpha, complete,
       visit, why, asked, changed, same, new, gone, saved_bytes
FROM visits WHERE site = :site ORDER BY started DESC, run DESC, visit DESC LIMIT :limit;

-- name: visits_of
-- All visits of a run.
SELECT site, run, started, finished, seconds, pages, payload_bytes, wire_bytes, alpha, complete,
       visit, why, asked, changed, same, new, gone, saved_bytes
FROM visits WHERE run = :run ORDER BY site, visit;

-- name: errors
-- Error counts of one visit.
SELECT kind, count FROM visit_errors WHERE site = :site AND run = :run AND visit = :visit
ORDER BY kind;

-- name: put_site_state
-- A site of a keeper as it is now.
INSERT OR REPLACE INTO site_state
    (site, visit, asked, outlook, connection_bytes, request_bytes, look_seconds, paused_until, down,
     suspicions, trouble, trouble_since)
VALUES
    (:site, :visit, :asked, :outlook, :connection_bytes, :request_bytes, :look_seconds,
     :paused_until, :down, :suspicions, :trouble, :trouble_since);

-- name: site_states
-- All sites of a keeper.
SELECT site, visit, asked, outlook, connection_bytes, request_bytes, look_seconds, paused_until,
       down, suspicions, trouble, trouble_since
FROM site_state ORDER BY site;

-- name: settle_promise
-- A promise was kept, or was late.
INSERT OR REPLACE INTO promises (site, due, settled) VALUES (:site, :due, :settled);

-- name: promises
-- Those settled since a moment.
SELECT site, due, settled FROM promises WHERE settled >= :since ORDER BY settled, site;

-- name: forget_promises
-- Nobody asks for them any more.
DELETE FROM promises WHERE settled < :moment;

-- name: forget_line_use
-- No quota reaches back so far.
DELETE FROM line_use WHERE (slot + 1) * 900 <= :moment;

-- name: record_server
-- How fast an address is, as known now.
INSERT INTO servers (address, measured, measures, estimates)
VALUES (:address, :measured, :measures, :estimates)
ON CONFLICT (address) DO UPDATE SET
    measured = excluded.measured, measures = excluded.measures, estimates = excluded.estimates;

-- name: record_host
-- Where a host was found.
INSERT INTO server_hosts (host, address, seen) VALUES (:host, :address, :seen)
ON CONFLICT (host, address) DO UPDATE SET seen = excluded.seen;

-- name: server
-- What is known of an address.
SELECT measured, measures, estimates FROM servers WHERE address = :address;

-- name: address
-- Where a host was found last: a host that moved is looked up at its new address.
SELECT address FROM server_hosts WHERE host = :host ORDER BY seen DESC, address LIMIT 1;

-- name: servers
-- All addresses with the hosts found at them, the last measured first.
SELECT address, measured, measures, estimates, host
FROM servers LEFT JOIN server_hosts USING (address)
ORDER BY measured DESC, address, host;

-- name: add_line_use
-- More bytes came in a slot.
INSERT INTO line_use (slot, bytes) VALUES (:slot, :bytes)
ON CONFLICT (slot) DO UPDATE SET bytes = bytes + excluded.bytes;

-- name: line_use
-- What came from a slot on.
SELECT slot, bytes FROM line_use WHERE slot >= :first ORDER BY slot;
