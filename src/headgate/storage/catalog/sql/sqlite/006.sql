-- The board of a grid: nodes, tasks, leases and what came of them.
CREATE TABLE nodes (
    name       TEXT PRIMARY KEY,
    grp        TEXT NOT NULL DEFAULT '',
    token_key  TEXT NOT NULL DEFAULT '',   -- by which its token is revoked
    slots      INTEGER NOT NULL,
    joined     REAL NOT NULL,
    seen       REAL NOT NULL,
    life       INTEGER NOT NULL,           -- of its process: the next one's is higher
    up_seconds REAL NOT NULL,              -- that it was here at a time, in the mean
    reference_seconds REAL,                -- for the reference site; null: not measured
    speed      REAL,                       -- bytes per second of its own tasks
    revoked    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE tasks (
    id       INTEGER PRIMARY KEY,
    run      TEXT NOT NULL REFERENCES runs (stamp),
    site     TEXT NOT NULL,
    part     TEXT NOT NULL,                -- which folders; '': all
    host     TEXT NOT NULL,
    visit    INTEGER NOT NULL,
    spec     BLOB NOT NULL,                -- JSON: what a node is told
    value    REAL NOT NULL,
    due      REAL,                         -- null: nothing was promised
    expected_bytes   REAL NOT NULL,
    expected_seconds REAL NOT NULL,
    nodes_at_once    INTEGER NOT NULL,
    audit_of INTEGER,                      -- the task whose result this one's is compared with
    not_group TEXT,                        -- no node of it gets the task
    state    TEXT NOT NULL DEFAULT 'ready'
             CHECK (state IN ('ready', 'leased', 'received', 'done', 'dropped')),
    epoch    INTEGER NOT NULL DEFAULT 0,   -- of the last lease, or above
    winner   INTEGER,                      -- the epoch of the result that counts
    lost     INTEGER NOT NULL DEFAULT 0,
    manifest BLOB                          -- JSON: files and digests of the result that counts
) STRICT;
CREATE UNIQUE INDEX each_task_once ON tasks (run, site, part, visit, coalesce(audit_of, 0));
CREATE INDEX tasks_by_state ON tasks (run, state);
CREATE TABLE leases (
    task     INTEGER NOT NULL REFERENCES tasks (id),
    epoch    INTEGER NOT NULL,
    node     TEXT NOT NULL,
    claim    TEXT NOT NULL,                -- the node's own name for what it asked
    host     TEXT NOT NULL,
    place    INTEGER NOT NULL,             -- which of the host's: it has as many as nodes may be there
    given    REAL NOT NULL,
    ended    REAL,                         -- null: open
    how      TEXT,                         -- committed, superseded, expired, stuck, left, revoked
    pages    INTEGER NOT NULL DEFAULT 0,
    wire_bytes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task, epoch)
) STRICT, WITHOUT ROWID;
CREATE INDEX leases_of_node ON leases (node);
CREATE UNIQUE INDEX one_node_per_place ON leases (host, place) WHERE ended IS NULL;
CREATE UNIQUE INDEX claim_once ON leases (node, claim) WHERE ended IS NULL;
CREATE TABLE node_hosts (
    node            TEXT NOT NULL,
    host            TEXT NOT NULL,
    connect_seconds REAL NOT NULL,
    measured        REAL NOT NULL,
    PRIMARY KEY (host, node)
) STRICT, WITHOUT ROWID;
CREATE TABLE audits (
    task      INTEGER PRIMARY KEY REFERENCES tasks (id),
    site      TEXT NOT NULL,
    first     TEXT NOT NULL,               -- node
    second    TEXT NOT NULL,
    pages     INTEGER NOT NULL,            -- that both have
    differing INTEGER NOT NULL,
    examples  TEXT NOT NULL                -- JSON: URLs
) STRICT;
