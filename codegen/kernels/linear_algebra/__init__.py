"""Kernels of whole matrices and rows: factorizations and solves, LAPACK, Fourier transforms."""
