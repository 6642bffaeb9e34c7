"""Functions that rewrite a JSON Schema into the form that a provider accepts."""
