"""Compute sizes of tensor dimensions, as Python ints or as index values."""
