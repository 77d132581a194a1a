"""Rules of ops that move elements: reshapes, slices, padding, gathers and scatters."""
