"""Generate kernels: the loop nests of operations on tensors."""
