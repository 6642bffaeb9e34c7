"""The pages of the documentation, and `site`, which makes a site of them."""
