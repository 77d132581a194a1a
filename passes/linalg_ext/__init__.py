"""Convert extensions of linalg: `tm_tensor` of torch-mlir and `iree_linalg_ext` of IREE."""
