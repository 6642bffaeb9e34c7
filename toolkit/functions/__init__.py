"""Describe a callable: its parameters, their types, and how a call of it is checked."""
