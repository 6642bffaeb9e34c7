"""Validate values against JSON Schemas, explain what is wrong, and repair what can be repaired."""
