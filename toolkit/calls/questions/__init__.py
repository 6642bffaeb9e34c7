"""Questions that a tool asks its user."""
