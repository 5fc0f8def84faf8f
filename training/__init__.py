"""Everything that makes a model, and the evaluation that judges it. May import `sidecar`, never the other way."""
