"""From asynchronous operations to commands: storage, partitions and allocations."""
