"""Convert torch-mlir's `tm_tensor` dialect to linalg."""
