"""Encodings asked for on tensors."""
