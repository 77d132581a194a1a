"""From operations to native kernels."""
