"""Executables to Numba kernels."""
