"""Inner tiles of matrix products, with all accumulators in registers."""
