"""Factor rules of operations, in files by dialect."""
