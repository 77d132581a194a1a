"""The code of a kernel: it is built as a Python `ast`, and lowered to LLVM IR.

Numbers are folded while the `ast` is built, and the values of a loop index at which conditions
change are collected. Nothing here knows operations or tensors.
"""
