"""Tests of the inspector's page in a real browser."""
