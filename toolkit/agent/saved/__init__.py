"""
Runs as values: how they ended, and how they are written, sealed and read.
"""
