"""The stages of one call: plan it, judge it, run it, and render its result."""
