"""The operations of `tensor` that xDSL lacks or checks less than MLIR."""
