"""Search for shardings, formulated over tensors and factor rules. No IR."""
