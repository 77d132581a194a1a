"""The code of one element of a tensor, and what a kernel is made of besides its loops.

A `KernelWriter` binds tensors and sizes. An element of a stored tensor is a load; an element of a
tensor that is fused is the code of its operation. Accesses that are not proven to be in bounds are
checked. The result is a `KernelText`.
"""
