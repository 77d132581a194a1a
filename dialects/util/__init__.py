"""The `util` dialect."""
