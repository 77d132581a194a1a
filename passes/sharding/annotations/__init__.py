"""Read and write the sharding annotations of a program."""
