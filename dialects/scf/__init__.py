"""Ops of `scf` that xDSL lacks, and checks of control flow."""
