"""Factor rules of operations, one file per dialect."""
