"""Propagate annotations to a sharding of every operand and result."""
