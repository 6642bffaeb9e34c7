"""Find files by their names and their content."""
