"""Tools with which a model keeps notes from one conversation to the next, and the stores that hold them."""
