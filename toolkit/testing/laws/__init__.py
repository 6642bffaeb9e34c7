"""Check that a tool keeps the laws that every tool has to keep."""
