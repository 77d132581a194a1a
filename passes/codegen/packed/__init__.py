"""Operations on packed tensors inside of kernels."""
