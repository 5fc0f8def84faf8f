"""Training of the premise selector: batches with sampled negatives, the masked contrastive loss, the runs."""
