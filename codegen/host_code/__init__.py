"""Lowering of functions to host code."""
