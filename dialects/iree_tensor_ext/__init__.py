"""The `iree_tensor_ext` dialect."""
