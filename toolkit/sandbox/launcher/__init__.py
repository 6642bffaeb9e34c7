"""The code of the launcher process: it confines a child, starts the command, and ends the processes that it leaves."""
