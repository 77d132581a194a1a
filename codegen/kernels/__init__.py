"""Generate kernels: the loop nests of operations on tensors.

The packages are in this order, and each imports those before it: `code`, `elements`, `loops`, then
`linear_algebra`, `moves`, `sequential`, `reductions` and `products`, one for each kind of kernel.
The files here choose: which tensors a block stores (`fusion`), in which order its kernels run
(`schedule`), and how the kernel of an operation is written (`loop_nests`).
"""
