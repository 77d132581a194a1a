"""Kernels of matrix products and convolutions, which keep tiles of sums in registers.

Operands are read as they are stored, copied to strips, packed into panels, or packed already
(`linalg.mmt4d`). `codegen/microkernels/` has the code of one tile.
"""
