"""Compile programs to native kernels and to host code that runs them."""
