"""Kernels that move elements and compute nothing: transposes, and copies between memory layouts."""
