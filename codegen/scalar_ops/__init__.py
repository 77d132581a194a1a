"""What is done with one element: scalar operations as LLVM IR."""
