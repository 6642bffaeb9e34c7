"""Run the user's own commands as hooks."""
