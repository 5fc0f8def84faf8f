"""Short-query search: hard and honest queries by reinforcement learning, judging, rewriting, rounds."""
