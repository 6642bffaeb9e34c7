"""Run in the other process: confine it, start the command, and end what it leaves."""
