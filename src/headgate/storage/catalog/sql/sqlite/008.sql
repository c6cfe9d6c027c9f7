-- What a node's owner allows, for lists of tasks of the right length.
ALTER TABLE nodes ADD COLUMN bandwidth REAL;               -- bytes per second; null: no limit
