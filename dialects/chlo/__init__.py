"""The CHLO dialect: client-level functions that are lowered to StableHLO."""
