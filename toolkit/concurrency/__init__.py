"""Threads and event loops that run calls, and the limits on them."""
