"""Check that a value is plain JSON, and write it in one canonical form."""
