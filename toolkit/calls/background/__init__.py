"""Calls that run in the background."""
