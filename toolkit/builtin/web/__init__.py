"""Tools that fetch pages from the web."""
