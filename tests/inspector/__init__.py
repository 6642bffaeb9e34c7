"""The inspector: its addresses with a real server, and its page in a real browser."""
