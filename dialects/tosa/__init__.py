"""The `tosa` dialect of MLIR 22."""
