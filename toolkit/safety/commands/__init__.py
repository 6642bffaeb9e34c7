"""Checks of what a command line would do."""
