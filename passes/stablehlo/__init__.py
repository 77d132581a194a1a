"""Convert StableHLO and CHLO to linalg, tensor, scf, arith and math."""
