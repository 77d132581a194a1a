"""The `linalg` dialect of MLIR 22."""
