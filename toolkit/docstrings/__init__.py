"""Read what an author wrote about a function or a class."""
