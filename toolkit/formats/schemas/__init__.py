"""Rewrite a JSON Schema into what a provider accepts."""
