"""Requests of nodes over NATS: server, connection, credentials."""
