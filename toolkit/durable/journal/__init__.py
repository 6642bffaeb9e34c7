"""The journal of durable runs, in SQLite or PostgreSQL."""
