"""Fetch pages from the web."""
