-- The board of a grid. Every query is understood by SQLite and PostgreSQL.

-- name: add_task
-- A task to be done; one that is there stays as it is.
INSERT INTO tasks
    (run, site, part, host, visit, spec, value, due, expected_bytes, expected_seconds,
     nodes_at_once, audit_of, not_group)
VALUES
    (:run, :site, :part, :host, :visit, :spec, :value, :due, :expected_bytes, :expected_seconds,
     :nodes_at_once, :audit_of, :not_group)
ON CONFLICT DO NOTHING;

-- name: same_task
-- The one that was added, or was there.
SELECT id, site, host, value, due, expected_bytes, expected_seconds, nodes_at_once, audit_of,
       not_group, part, state, epoch, winner, lost, held_seconds
FROM tasks
WHERE run = :run AND site = :site AND part = :part AND visit = :visit
  AND coalesce(audit_of, 0) = :audited;

-- name: open_tasks
-- Of a run, what is not done, after a number.
SELECT id, site, host, value, due, expected_bytes, expected_seconds, nodes_at_once, audit_of,
       not_group, part, state, epoch, winner, lost, held_seconds
FROM tasks WHERE run = :run AND state <> 'done' AND id > :after ORDER BY id LIMIT :most;

-- name: begun_tasks
-- The same without those that were never given out; audits are few.
SELECT id, site, host, value, due, expected_bytes, expected_seconds, nodes_at_once, audit_of,
       not_group, part, state, epoch, winner, lost, held_seconds
FROM tasks
WHERE run = :run AND state <> 'done' AND (epoch > 0 OR state <> 'ready' OR audit_of IS NOT NULL)
  AND id > :after ORDER BY id LIMIT :most;

-- name: waiting_tasks
-- Of a run, those that were never given out, after a number: in which order they go.
SELECT id, due, expected_seconds, value FROM tasks
WHERE run = :run AND state = 'ready' AND epoch = 0 AND audit_of IS NULL AND id > :after
ORDER BY id LIMIT :most;

-- name: task
-- By its number.
SELECT id, site, host, value, due, expected_bytes, expected_seconds, nodes_at_once, audit_of,
       not_group, part, state, epoch, winner, lost, held_seconds
FROM tasks WHERE id = :id;

-- name: count_tasks
-- Of a run, by state.
SELECT state, count(*) AS tasks FROM tasks WHERE run = :run GROUP BY state;

-- name: losses
-- Of all tasks of a run.
SELECT coalesce(sum(lost), 0) AS lost, coalesce(sum(held_seconds), 0) AS held_seconds
FROM tasks WHERE run = :run;

-- name: open_leases
-- Of a run's tasks.
SELECT leases.task, leases.epoch, leases.node, leases.claim, leases.host, leases.place,
       leases.given, leases.ended, leases.how, leases.pages, leases.wire_bytes
FROM leases JOIN tasks ON tasks.id = leases.task
WHERE tasks.run = :run AND leases.ended IS NULL ORDER BY leases.task, leases.epoch;

-- name: other_leases
-- Open ones of tasks of all other runs.
SELECT leases.task, leases.epoch, leases.node, leases.claim, leases.host, leases.place,
       leases.given, leases.ended, leases.how, leases.pages, leases.wire_bytes
FROM leases JOIN tasks ON tasks.id = leases.task
WHERE tasks.run <> :run AND leases.ended IS NULL ORDER BY leases.task, leases.epoch;

-- name: silent_leases
-- Of a run's tasks that are not done: those whose node was not heard of.
SELECT leases.task, leases.epoch, leases.node, leases.claim, leases.host, leases.place,
       leases.given, leases.ended, leases.how, leases.pages, leases.wire_bytes
FROM leases JOIN tasks ON tasks.id = leases.task
WHERE tasks.run = :run AND tasks.state <> 'done' AND tasks.lost > 0 AND leases.how = 'expired'
ORDER BY leases.task, leases.epoch;

-- name: lease
-- Who had it, and how it ended.
SELECT task, epoch, node, claim, host, place, given, ended, how, pages, wire_bytes
FROM leases WHERE task = :task AND epoch = :epoch;

-- name: task_result
-- What a node was told of a task, and whose result counts.
SELECT spec, winner, manifest, state FROM tasks WHERE id = :task;

-- name: awaited
-- The task, if a result under this epoch would count, or counts and is not stored yet, for a run
-- that goes on.
SELECT tasks.id FROM tasks JOIN runs ON runs.stamp = tasks.run
WHERE tasks.id = :task AND tasks.state <> 'done' AND coalesce(tasks.winner, :epoch) = :epoch
  AND runs.outcome IN ('running', 'interrupted');

-- name: done_tasks
-- Of a run, with whose result counts; audits left out.
SELECT id, site, winner FROM tasks
WHERE run = :run AND state = 'done' AND audit_of IS NULL ORDER BY id;

-- name: save_task
-- A task as it is now, if nobody else changed it since; a manifest only if there is a new one.
UPDATE tasks SET state = :state, epoch = :epoch, winner = :winner, lost = :lost,
    held_seconds = :held_seconds, manifest = coalesce(:manifest, manifest)
WHERE id = :id AND epoch = :before;

-- name: save_lease
-- A lease given, or as it is now.
INSERT INTO leases
    (task, epoch, node, claim, host, place, given, ended, how, pages, wire_bytes)
VALUES
    (:task, :epoch, :node, :claim, :host, :place, :given, :ended, :how, :pages, :wire_bytes)
ON CONFLICT (task, epoch) DO UPDATE SET
    ended = excluded.ended, how = excluded.how, pages = excluded.pages,
    wire_bytes = excluded.wire_bytes;

-- name: save_node
-- A node as it is now. Group, token and whether it is revoked are for `invite` and `set_revoked`.
INSERT INTO nodes
    (name, grp, token_key, slots, joined, seen, life, up_seconds, reference_seconds, speed,
     bandwidth, revoked)
VALUES
    (:name, :grp, :token_key, :slots, :joined, :seen, :life, :up_seconds, :reference_seconds,
     :speed, :bandwidth, :revoked)
ON CONFLICT (name) DO UPDATE SET
    slots = excluded.slots, seen = excluded.seen, life = excluded.life,
    up_seconds = excluded.up_seconds, reference_seconds = excluded.reference_seconds,
    speed = excluded.speed, bandwidth = excluded.bandwidth;

-- name: invite
-- A node gets a token, unless it was revoked: tokens it had before would let it in as well.
INSERT INTO nodes (name, grp, token_key, slots, joined, seen, life, up_seconds)
VALUES (:name, :grp, :token_key, 1, :joined, 0, 0, 0)
ON CONFLICT (name) DO UPDATE SET grp = excluded.grp, token_key = excluded.token_key
WHERE nodes.revoked = 0;

-- name: set_revoked
-- No answers for it any more.
UPDATE nodes SET revoked = 1 WHERE name = :name;

-- name: nodes
-- All that were ever invited or heard of.
SELECT name, grp, token_key, slots, joined, seen, life, up_seconds, reference_seconds, speed,
       bandwidth, revoked
FROM nodes ORDER BY name;

-- name: figures
-- What each node did, in a run or (empty) in all. Bytes and pages are as nodes told them: sums of
-- integers could overflow.
SELECT leases.node,
       count(*) AS leases,
       sum(CASE WHEN leases.ended IS NULL THEN 1 ELSE 0 END) AS open,
       sum(CASE WHEN leases.how = 'committed' THEN 1 ELSE 0 END) AS committed,
       sum(CASE WHEN leases.how = 'superseded' THEN 1 ELSE 0 END) AS superseded,
       sum(CASE WHEN leases.how IN ('expired', 'stuck', 'left', 'revoked', 'spoilt') THEN 1 ELSE 0
                END) AS lost,
       sum(CASE WHEN leases.how = 'committed' THEN leases.pages * 1.0 ELSE 0 END) AS pages,
       sum(CASE WHEN leases.how = 'committed' THEN leases.wire_bytes * 1.0 ELSE 0 END) AS wire_bytes,
       sum(CASE WHEN leases.ended IS NOT NULL AND coalesce(leases.how, 'committed') <> 'committed'
                THEN leases.wire_bytes * 1.0 ELSE 0 END) AS wasted_bytes
FROM leases JOIN tasks ON tasks.id = leases.task
WHERE :run = '' OR tasks.run = :run
GROUP BY leases.node ORDER BY leases.node;

-- name: save_connect
-- How near a node is to a host.
INSERT INTO node_hosts (node, host, connect_seconds, measured)
VALUES (:node, :host, :connect_seconds, :measured)
ON CONFLICT (host, node) DO UPDATE SET
    connect_seconds = excluded.connect_seconds, measured = excluded.measured;

-- name: forget_connects
-- Of a host, all but the newest.
DELETE FROM node_hosts WHERE host = :host AND node NOT IN
    (SELECT node FROM node_hosts WHERE host = :host ORDER BY measured DESC, node LIMIT :most);

-- name: connects
-- All of them.
SELECT node, host, connect_seconds FROM node_hosts ORDER BY host, node;

-- name: listing
-- Tasks in a state, or ('') in any, the newest first.
SELECT tasks.id, tasks.run, tasks.site, tasks.part, tasks.host, tasks.state, tasks.epoch,
       tasks.lost, tasks.due, tasks.expected_bytes, leases.node
FROM tasks LEFT JOIN leases ON leases.task = tasks.id
    AND (leases.ended IS NULL OR leases.epoch = tasks.winner)
WHERE (:state = '' OR tasks.state = :state) AND tasks.id IN
    (SELECT id FROM tasks WHERE :state = '' OR state = :state ORDER BY id DESC LIMIT :limit)
ORDER BY tasks.id DESC, leases.epoch;

-- name: save_audit
-- What came of comparing two nodes.
INSERT INTO audits (task, site, first, second, pages, differing, examples)
VALUES (:task, :site, :first, :second, :pages, :differing, :examples)
ON CONFLICT (task) DO NOTHING;

-- name: audits
-- Of a run.
SELECT audits.task, audits.site, audits.first, audits.second, audits.pages, audits.differing,
       audits.examples
FROM audits JOIN tasks ON tasks.id = audits.task WHERE tasks.run = :run ORDER BY audits.task;
