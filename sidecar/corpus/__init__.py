"""What is known: declarations, modules, imports, and which of them are premises or search targets."""
