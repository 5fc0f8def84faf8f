"""Texts to vectors: the encoder tiers behind one interface, and micro-batching across concurrent requests."""
