"""Approval prompts in a terminal."""
