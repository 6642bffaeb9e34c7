"""Storage for everything that is kept: SQLite files, PostgreSQL databases, and the processes that use them."""
