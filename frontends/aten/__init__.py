"""Decompose PyTorch operations into operations that torch-mlir converts."""
