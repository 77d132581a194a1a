"""Operations of torch-mlir beside linalg, converted to it."""
