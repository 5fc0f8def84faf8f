"""Whether search helps agents to prove: problems, a command that runs an agent, and proofs that Lean accepts."""
