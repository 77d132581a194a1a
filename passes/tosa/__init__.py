"""Convert TOSA to linalg, tensor, arith and math."""
