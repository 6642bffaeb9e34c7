"""Complete command lines in a shell."""
