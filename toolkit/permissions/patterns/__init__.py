"""Patterns of rules for tool names, paths, URLs and commands."""
