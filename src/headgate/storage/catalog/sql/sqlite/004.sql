-- A run may be given up by its user. Only a new table has another check.
CREATE TABLE runs_4 (
    stamp    TEXT PRIMARY KEY,            -- the name of the run's folder
    started  REAL NOT NULL,
    finished REAL,                        -- null: not yet, or the process died
    outcome  TEXT NOT NULL DEFAULT 'running'
             CHECK (outcome IN ('running', 'finished', 'interrupted', 'abandoned')),
    settings TEXT NOT NULL                -- JSON: what the run was asked to do
) STRICT;
INSERT INTO runs_4 SELECT stamp, started, finished,
    CASE outcome WHEN 'failed' THEN 'interrupted' ELSE outcome END, settings FROM runs;
DROP TABLE runs;
ALTER TABLE runs_4 RENAME TO runs;
