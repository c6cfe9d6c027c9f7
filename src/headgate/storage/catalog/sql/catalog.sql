-- The catalog: sites and runs, never pages, so that it stays small at any scale. Every query is
-- understood by SQLite and PostgreSQL; their tables are laid out in the folders of their names.
-- Times are seconds since 1970, sizes bytes, rates bytes per second.

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
INSERT INTO visits
    (site, run, started, finished, seconds, pages, payload_bytes, wire_bytes, alpha, complete,
     visit, why, asked, changed, same, new, gone, saved_bytes)
VALUES
    (:site, :run, :started, :finished, :seconds, :pages, :payload_bytes, :wire_bytes, :alpha,
     :complete, :visit, :why, :asked, :changed, :same, :new, :gone, :saved_bytes)
ON CONFLICT (site, run, visit) DO UPDATE SET
    started = excluded.started, finished = excluded.finished, seconds = excluded.seconds,
    pages = excluded.pages, payload_bytes = excluded.payload_bytes,
    wire_bytes = excluded.wire_bytes, alpha = excluded.alpha, complete = excluded.complete,
    why = excluded.why, asked = excluded.asked, changed = excluded.changed, same = excluded.same,
    new = excluded.new, gone = excluded.gone, saved_bytes = excluded.saved_bytes;

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
INSERT INTO site_state
    (site, visit, asked, outlook, connection_bytes, request_bytes, look_seconds, paused_until, down,
     suspicions, trouble, trouble_since)
VALUES
    (:site, :visit, :asked, :outlook, :connection_bytes, :request_bytes, :look_seconds,
     :paused_until, :down, :suspicions, :trouble, :trouble_since)
ON CONFLICT (site) DO UPDATE SET
    visit = excluded.visit, asked = excluded.asked, outlook = excluded.outlook,
    connection_bytes = excluded.connection_bytes, request_bytes = excluded.request_bytes,
    look_seconds = excluded.look_seconds, paused_until = excluded.paused_until,
    down = excluded.down, suspicions = excluded.suspicions, trouble = excluded.trouble,
    trouble_since = excluded.trouble_since;

-- name: site_states
-- All sites of a keeper.
SELECT site, visit, asked, outlook, connection_bytes, request_bytes, look_seconds, paused_until,
       down, suspicions, trouble, trouble_since
FROM site_state ORDER BY site;

-- name: settle_promise
-- A promise was kept, or was late.
INSERT INTO promises (site, due, settled) VALUES (:site, :due, :settled)
ON CONFLICT (site, due) DO UPDATE SET settled = excluded.settled;

-- name: promises
-- Those settled since a moment.
SELECT site, due, settled FROM promises WHERE settled >= :since ORDER BY settled, site;

-- name: forget_promises
-- Nobody asks for them any more.
DELETE FROM promises WHERE settled < :moment;

-- name: forget_line_use
-- No quota reaches back so far.
DELETE FROM line_use WHERE (slot + 1) * 900 <= :moment;

-- name: forget_errors
-- As `forget_visits`, and before it.
DELETE FROM visit_errors
WHERE run IN (SELECT stamp FROM runs WHERE outcome <> 'running' AND finished < :moment)
  AND visit > 0
  AND visit < (SELECT state.visit FROM site_state AS state WHERE state.site = visit_errors.site);

-- name: forget_visits
-- A keeper's, of volumes that ended long ago: their reports have what they came to. The last visit
-- to a site stays, which says that it was ever visited.
DELETE FROM visits
WHERE run IN (SELECT stamp FROM runs WHERE outcome <> 'running' AND finished < :moment)
  AND visit > 0
  AND visit < (SELECT state.visit FROM site_state AS state WHERE state.site = visits.site);

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
-- More bytes came in a slot. Nodes may tell of more than a number can hold: that is used up, too.
INSERT INTO line_use (slot, bytes) VALUES (:slot, :bytes)
ON CONFLICT (slot) DO UPDATE SET bytes =
    CASE WHEN line_use.bytes > :most - excluded.bytes THEN :most
         ELSE line_use.bytes + excluded.bytes END;

-- name: line_use
-- What came from a slot on.
SELECT slot, bytes FROM line_use WHERE slot >= :first ORDER BY slot;
