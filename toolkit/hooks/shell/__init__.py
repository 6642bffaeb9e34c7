"""Hooks that run the user's own commands."""
