"""Rules of products of tensors: dot products, convolutions and ragged products."""
