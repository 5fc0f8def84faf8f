"""Training and evaluation data: one typed example, one reader a source."""
