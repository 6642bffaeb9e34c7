"""Tests of a catalog that is served over MCP."""
