"""The `flow` dialect."""
