"""Tests of the Model Context Protocol, in both directions."""
