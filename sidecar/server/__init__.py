"""The HTTP server: typed requests in, answers and errors of one format out; nothing waits on the event loop."""
