"""From tensor operations to dispatches of kernels."""
