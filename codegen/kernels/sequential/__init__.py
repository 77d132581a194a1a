"""Kernels of sequential loops, such as `scf.for`, which update carried tensors in place."""
