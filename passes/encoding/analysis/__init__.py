"""Which contractions can be tiled, and in which form."""
