-- Speeds by address instead of one rate per host.
DROP TABLE server_speeds;
CREATE TABLE servers (
    address   TEXT PRIMARY KEY,           -- an IP address
    measured  REAL NOT NULL,              -- when last
    measures  INTEGER NOT NULL,
    estimates BLOB NOT NULL               -- as bandwidth/server_speed.py encodes them, 0.4 KB
) STRICT, WITHOUT ROWID;
CREATE TABLE server_hosts (
    host    TEXT NOT NULL,
    address TEXT NOT NULL REFERENCES servers (address),
    seen    REAL NOT NULL,                -- when the host was last found at the address
    PRIMARY KEY (host, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX hosts_of_server ON server_hosts (address);
