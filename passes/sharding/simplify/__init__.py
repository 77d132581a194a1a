"""What `shard-simplify` knows of collectives."""
