"""What things cost, beside what the same costs elsewhere, measured in one run."""
