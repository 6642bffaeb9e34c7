"""Parser that reads a command line as bash would."""
