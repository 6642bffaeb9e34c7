"""Read, write and edit files."""
