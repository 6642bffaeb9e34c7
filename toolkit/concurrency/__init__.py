"""Run calls in threads and event loops, within their limits."""
