"""Rewrites of collectives for `shard-simplify`."""
