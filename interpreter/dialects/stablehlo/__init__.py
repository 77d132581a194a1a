"""The meaning of what passes keep of StableHLO: decompositions, transforms and LAPACK calls."""
