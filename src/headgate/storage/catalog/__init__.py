"""The catalog in SQL: sites, visits, servers, and the board of a grid; in SQLite or PostgreSQL."""
