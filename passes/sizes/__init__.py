"""How long the dimensions of tensors are, as numbers or as index values."""
