"""Passes for programs of any dialect that MLIR has, under MLIR's names."""
