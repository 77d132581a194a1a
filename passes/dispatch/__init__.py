"""Form dispatches of kernels from tensor operations."""
