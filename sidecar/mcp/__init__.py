"""The sidecar as tools for agents, by the Model Context Protocol; needs the extra `mcp`."""
