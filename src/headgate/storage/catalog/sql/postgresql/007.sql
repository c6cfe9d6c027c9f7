-- How long tasks were held under leases: those that take long are lost more often.
ALTER TABLE tasks ADD COLUMN held_seconds DOUBLE PRECISION NOT NULL DEFAULT 0;
