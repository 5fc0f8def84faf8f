"""Premise selection: a goal in, the declarations that its proof may need out."""
