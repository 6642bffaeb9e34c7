"""Tools that run commands and look after background jobs."""
