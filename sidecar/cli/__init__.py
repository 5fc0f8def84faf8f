"""The command line: one module a group of commands, nothing heavy imported before a command runs."""
