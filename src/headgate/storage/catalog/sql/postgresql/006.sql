-- All tables up to the version of this file's name: there was no catalog in PostgreSQL before.
-- "C" orders text by its bytes, as SQLite does.
CREATE TABLE runs (
    stamp    TEXT COLLATE "C" PRIMARY KEY,            -- the name of the run's folder
    started  DOUBLE PRECISION NOT NULL,
    finished DOUBLE PRECISION,                        -- null: not yet, or the process died
    outcome  TEXT COLLATE "C" NOT NULL DEFAULT 'running'
             CHECK (outcome IN ('running', 'finished', 'interrupted', 'abandoned')),
    settings TEXT COLLATE "C" NOT NULL                -- JSON: what the run was asked to do
);
CREATE TABLE sites (
    name      TEXT COLLATE "C" PRIMARY KEY,
    first_run TEXT COLLATE "C" NOT NULL REFERENCES runs (stamp),
    last_run  TEXT COLLATE "C" NOT NULL REFERENCES runs (stamp)
);
CREATE TABLE visits (
    site          TEXT COLLATE "C" NOT NULL REFERENCES sites (name),
    run           TEXT COLLATE "C" NOT NULL REFERENCES runs (stamp),
    started       DOUBLE PRECISION NOT NULL,
    finished      DOUBLE PRECISION NOT NULL,
    seconds       DOUBLE PRECISION NOT NULL,          -- spent crawling, pauses left out
    pages         BIGINT NOT NULL,
    payload_bytes BIGINT NOT NULL,
    wire_bytes    BIGINT NOT NULL,
    alpha         DOUBLE PRECISION,                   -- Zhu 2020, Eq. 17; null: not measured
    complete      BIGINT NOT NULL,       -- 0: stopped with URLs left to do
    visit         BIGINT NOT NULL DEFAULT 0,  -- the site's how-manieth, in a volume of a keeper
    why           TEXT COLLATE "C" NOT NULL DEFAULT '',    -- index, promise, first or user; of a keeper's
    asked         BIGINT NOT NULL DEFAULT 0,  -- pages looked at, and what was found of them
    changed       BIGINT NOT NULL DEFAULT 0,
    same          BIGINT NOT NULL DEFAULT 0,
    new           BIGINT NOT NULL DEFAULT 0,
    gone          BIGINT NOT NULL DEFAULT 0,
    saved_bytes   BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (site, run, visit)
);
CREATE TABLE visit_errors (
    site  TEXT COLLATE "C" NOT NULL,
    run   TEXT COLLATE "C" NOT NULL,
    kind  TEXT COLLATE "C" NOT NULL,                  -- a failure kind, or a status like '404'
    count BIGINT NOT NULL,
    visit BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (site, run, visit, kind),
    FOREIGN KEY (site, run, visit) REFERENCES visits (site, run, visit)
);
CREATE TABLE site_state (   -- sites of a keeper, between two visits
    site          TEXT COLLATE "C" PRIMARY KEY,
    visit         BIGINT NOT NULL,       -- the last that was made
    asked         DOUBLE PRECISION NOT NULL,
    outlook       BYTEA NOT NULL,          -- what the board knows of it
    connection_bytes DOUBLE PRECISION,                -- learned of its servers, with the next two
    request_bytes DOUBLE PRECISION,
    look_seconds  DOUBLE PRECISION,
    paused_until  DOUBLE PRECISION NOT NULL,
    down          BIGINT NOT NULL,       -- visits in a row to which nobody answered
    suspicions    BIGINT NOT NULL,       -- visits in a row that were not believed
    trouble       TEXT COLLATE "C" NOT NULL,
    trouble_since DOUBLE PRECISION NOT NULL
);
CREATE TABLE promises (
    site    TEXT COLLATE "C" NOT NULL,
    due     DOUBLE PRECISION NOT NULL,                -- every page was to be looked at by then
    settled DOUBLE PRECISION NOT NULL,                -- when that was so, or found to be late
    PRIMARY KEY (site, due)
);
CREATE TABLE servers (
    address   TEXT COLLATE "C" PRIMARY KEY,           -- an IP address
    measured  DOUBLE PRECISION NOT NULL,              -- when last
    measures  BIGINT NOT NULL,
    estimates BYTEA NOT NULL               -- as bandwidth/server_speed.py encodes them, 0.4 KB
);
CREATE TABLE server_hosts (
    host    TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL REFERENCES servers (address),
    seen    DOUBLE PRECISION NOT NULL,                -- when the host was last found at the address
    PRIMARY KEY (host, address)
);
CREATE TABLE line_use (
    slot  BIGINT PRIMARY KEY,            -- a quarter of an hour: seconds since 1970 / 900
    bytes BIGINT NOT NULL                -- that came over the line in it, over all runs
);
CREATE INDEX hosts_of_server ON server_hosts (address);
CREATE TABLE nodes (
    name       TEXT COLLATE "C" PRIMARY KEY,
    grp        TEXT COLLATE "C" NOT NULL DEFAULT '',
    token_key  TEXT COLLATE "C" NOT NULL DEFAULT '',   -- by which its token is revoked
    slots      BIGINT NOT NULL,
    joined     DOUBLE PRECISION NOT NULL,
    seen       DOUBLE PRECISION NOT NULL,
    life       BIGINT NOT NULL,           -- of its process: the next one's is higher
    up_seconds DOUBLE PRECISION NOT NULL,              -- that it was here at a time, in the mean
    reference_seconds DOUBLE PRECISION,                -- for the reference site; null: not measured
    speed      DOUBLE PRECISION,                       -- bytes per second of its own tasks
    revoked    BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE tasks (
    id       BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    run      TEXT COLLATE "C" NOT NULL REFERENCES runs (stamp),
    site     TEXT COLLATE "C" NOT NULL,
    part     TEXT COLLATE "C" NOT NULL,                -- which folders; '': all
    host     TEXT COLLATE "C" NOT NULL,
    visit    BIGINT NOT NULL,
    spec     BYTEA NOT NULL,                -- JSON: what a node is told
    value    DOUBLE PRECISION NOT NULL,
    due      DOUBLE PRECISION,                         -- null: nothing was promised
    expected_bytes   DOUBLE PRECISION NOT NULL,
    expected_seconds DOUBLE PRECISION NOT NULL,
    nodes_at_once    BIGINT NOT NULL,
    audit_of BIGINT,                      -- the task whose result this one's is compared with
    not_group TEXT COLLATE "C",                        -- no node of it gets the task
    state    TEXT COLLATE "C" NOT NULL DEFAULT 'ready'
             CHECK (state IN ('ready', 'leased', 'received', 'done', 'dropped')),
    epoch    BIGINT NOT NULL DEFAULT 0,   -- of the last lease, or above
    winner   BIGINT,                      -- the epoch of the result that counts
    lost     BIGINT NOT NULL DEFAULT 0,
    manifest BYTEA                          -- JSON: files and digests of the result that counts
);
CREATE UNIQUE INDEX each_task_once ON tasks (run, site, part, visit, coalesce(audit_of, 0));
CREATE INDEX tasks_by_state ON tasks (run, state);
CREATE TABLE leases (
    task     BIGINT NOT NULL REFERENCES tasks (id),
    epoch    BIGINT NOT NULL,
    node     TEXT COLLATE "C" NOT NULL,
    claim    TEXT COLLATE "C" NOT NULL,                -- the node's own name for what it asked
    host     TEXT COLLATE "C" NOT NULL,
    place    BIGINT NOT NULL,             -- which of the host's: it has as many as nodes may be there
    given    DOUBLE PRECISION NOT NULL,
    ended    DOUBLE PRECISION,                         -- null: open
    how      TEXT COLLATE "C",                         -- committed, superseded, expired, stuck, left, revoked
    pages    BIGINT NOT NULL DEFAULT 0,
    wire_bytes BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (task, epoch)
);
CREATE INDEX leases_of_node ON leases (node);
CREATE UNIQUE INDEX one_node_per_place ON leases (host, place) WHERE ended IS NULL;
CREATE UNIQUE INDEX claim_once ON leases (node, claim) WHERE ended IS NULL;
CREATE TABLE node_hosts (
    node            TEXT COLLATE "C" NOT NULL,
    host            TEXT COLLATE "C" NOT NULL,
    connect_seconds DOUBLE PRECISION NOT NULL,
    measured        DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (host, node)
);
CREATE TABLE audits (
    task      BIGINT PRIMARY KEY REFERENCES tasks (id),
    site      TEXT COLLATE "C" NOT NULL,
    first     TEXT COLLATE "C" NOT NULL,               -- node
    second    TEXT COLLATE "C" NOT NULL,
    pages     BIGINT NOT NULL,            -- that both have
    differing BIGINT NOT NULL,
    examples  TEXT COLLATE "C" NOT NULL                -- JSON: URLs
);
