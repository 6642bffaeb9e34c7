"""Draw arguments, good and bad, from the schemas of tools."""
