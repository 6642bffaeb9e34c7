"""Judge what a command line would do."""
