"""Run child processes with limits on their time and their output."""
