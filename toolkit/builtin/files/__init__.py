"""Tools that read, write and edit files."""
