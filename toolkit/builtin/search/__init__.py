"""Tools that find files by their names and their content."""
