"""Snapshots of the schemas and definitions of tools, and what a change in them breaks for callers."""
