"""The parts of a catalog: snapshots, views, sources, summaries, and the search index."""
