"""What is measured and printed; figures go to `results/*.jsonl` (see `record`)."""
