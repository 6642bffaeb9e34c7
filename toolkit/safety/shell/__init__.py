"""Read a command line as bash would."""
