"""Ops of `arith` that xDSL lacks, or parses for scalars only."""
