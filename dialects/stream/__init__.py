"""The `stream` dialect."""
