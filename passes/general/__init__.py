"""Passes that MLIR has for programs of any dialect, under its names."""
