"""The `shard` dialect: grids of processes, shardings of tensors, and collectives."""
