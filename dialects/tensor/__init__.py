"""Ops of `tensor` that xDSL lacks, or verifies less strictly than MLIR."""
