"""The `hal` dialect."""
