"""
The messages of a run: kept valid, marked, cut and summed up.
"""
