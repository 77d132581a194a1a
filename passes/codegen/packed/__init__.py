"""Lower operations on encoded tensors inside of kernels to packed tensors."""
